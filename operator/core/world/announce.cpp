#include "operator/core/world/announce.h"

#include <utility>
#include <vector>

#include "operator/core/members/notice.h"
#include "operator/core/members/roster.h"
#include "operator/core/policy/save_time.h"

namespace ratoon::core {
namespace {

std::vector<ProcessIdentity> current_members(const Observation& seen,
                                             const std::vector<api::MemberStatus>& members) {
  std::vector<ProcessIdentity> current;
  for (const auto& member : incarnations_with_successors(members)) {
    ProcessIdentity id;
    id.job = api::key_of(seen.job);
    id.role = member.role;
    id.index = member.index;
    id.incarnation = member.incarnation;
    id.member_uid = member.uid;
    current.push_back(std::move(id));
  }
  return current;
}

}  // namespace

api::Announcement announce(const Observation& seen, const api::TrainingJobStatus& status, bool keeps_world,
                           const GrowthPlan& growth) {
  api::Announcement announcement{.attempt = status.attempt,
                                 .world = keeps_world ? seen.world : std::vector<api::AssignedProcess>{},
                                 .current = current_members(seen, status.members),
                                 .departures = departures_of(seen, status.members),
                                 .processes_per_node = seen.job.spec.processes_per_node};
  for (const auto& member : status.members) {
    if (const std::uint64_t done = member.is_completed ? ~std::uint64_t{0} : member.done; done != 0)
      announcement.done.push_back({.member_uid = member.uid, .local_ranks = done});
    // An absent member, without which the world was formed, needs no hand-over: its successor joins when the
    // world grows.
    if (!member.is_leaving() || member.is_absent) continue;
    const bool is_ready = is_successor_ready(seen, member);
    // Request an early save only if enough time remains afterwards for the save at the hand-over. A member
    // that knows when its node ends saves by itself, as late as possible.
    if (is_ready || has_time_for_two_saves(seen, end_time_of_member(seen, member)))
      ++announcement.save_request;
    announcement.hand_over = announcement.hand_over || is_ready;
  }
  if (growth.is_due) {
    ++announcement.save_request;
    announcement.hand_over = true;
  }
  return announcement;
}

}  // namespace ratoon::core
