#include "operator/core/world/elastic.h"

#include <algorithm>
#include <chrono>
#include <ranges>
#include <set>
#include <string>

#include "operator/core/loss/silence.h"
#include "operator/core/members/notice.h"
#include "operator/core/members/roster.h"
#include "operator/core/world/gang.h"

namespace ratoon::core {
namespace {

// A new world waits this much longer for a member that has sent a message. Such a member is about to join,
// and training without it would gain only a few seconds.
constexpr auto kJoinDelay = std::chrono::seconds(10);

bool is_elastic(const api::TrainingJob& job, const std::string& role_name) {
  return std::any_of(job.spec.roles.begin(), job.spec.roles.end(),
                     [&](const auto& role) { return role.name == role_name && !role.replicas; });
}

// A member that runs may have told only an earlier leader that it waits. This operator does not know that
// until it has received messages for as long as a member may be silent.
bool may_be_unheard(const Observation& seen, const api::MemberStatus& member) {
  const api::Pod* pod = find_pod(seen, member);
  return member.has_been_in_world && pod != nullptr && !pod->has_ended() && !pod->is_deleting;
}

WallTime wait_end_of_member(const Observation& seen, const api::MemberStatus& member, bool are_enough_ready,
                            WallTime since, Timestamp now) {
  const bool has_sent_message =
      std::any_of(seen.processes.begin(), seen.processes.end(),
                  [&](const auto& process) { return is_process_of(process.identity, member); });
  const auto& policy = *seen.job.spec.elastic_policy;
  Duration wait = std::chrono::seconds(policy.shrink_after_seconds);
  // Wait longer before the first world, because members start one after the other, and a first world of few
  // members would soon end in order to grow.
  if (seen.job.status.attempt.value() <= 1) wait += std::chrono::seconds(policy.grow_cooldown_seconds);
  if (are_enough_ready) wait = Duration(0);
  if (has_sent_message) return {since.since_epoch + wait + kJoinDelay};
  const WallTime wait_end{since.since_epoch + wait};
  if (!may_be_unheard(seen, member)) return wait_end;
  return std::max(wait_end, {seen.wall_now.since_epoch + (seen.listening_since + silence_limit(seen) - now)});
}

template <class Predicate>
std::uint32_t count_members_if(const std::vector<api::MemberStatus>& members, const std::string& role,
                               const Predicate& is_one) {
  return static_cast<std::uint32_t>(
      std::ranges::count_if(members, [&](const auto& m) { return m.role == role && is_one(m); }));
}

std::uint32_t count_present_members(const std::vector<api::MemberStatus>& members, const std::string& role) {
  return count_members_if(members, role, [](const auto& member) { return !member.is_absent; });
}

// Returns whether at least numNodes members of the role, not counting the one with this index, have a node.
bool are_enough_placed(const Observation& seen, const std::vector<api::MemberStatus>& members,
                       const std::string& role, std::uint32_t index) {
  const auto others = count_members_if(
      members, role, [&](const auto& member) { return member.index != index && !member.node.empty(); });
  return others >= seen.job.spec.num_nodes;
}

// Returns the roles of which at least numNodes members are ready.
std::set<std::string> find_full_roles(const Observation& seen,
                                      const std::vector<api::MemberStatus>& members) {
  std::set<std::string> full;
  for (const auto& role : seen.job.spec.roles) {
    const auto ready =
        count_members_if(members, role.name, [&](const auto& member) { return is_ready(seen, member); });
    if (ready >= seen.job.spec.num_nodes) full.insert(role.name);
  }
  return full;
}

}  // namespace

NextWorldMembers pick_next_world_members(const Observation& seen,
                                         const std::vector<api::MemberStatus>& members,
                                         WallTime world_awaited_since, Timestamp now) {
  NextWorldMembers all_members{.members = members};
  for (auto& member : all_members.members) member.is_absent = false;
  const auto& policy = seen.job.spec.elastic_policy;
  if (!policy) return all_members;

  const auto full_roles = find_full_roles(seen, members);
  NextWorldMembers next_world{.members = members};
  for (auto& member : next_world.members) {
    const bool was_absent = member.is_absent;
    member.is_absent = false;
    if (is_ready(seen, member) || !is_elastic(seen.job, member.role)) continue;
    const WallTime patient_until =
        wait_end_of_member(seen, member, full_roles.contains(member.role), world_awaited_since, now);
    member.is_absent = was_absent || patient_until <= seen.wall_now;
    if (member.is_absent) continue;
    next_world.last_wait_ends_at =
        std::max(patient_until, next_world.last_wait_ends_at.value_or(patient_until));
    next_world.next_wait_ends_at =
        std::min(patient_until, next_world.next_wait_ends_at.value_or(patient_until));
  }
  const bool is_enough = std::all_of(members.begin(), members.end(), [&](const auto& member) {
    return !is_elastic(seen.job, member.role) ||
           count_present_members(next_world.members, member.role) >= policy->members_min;
  });
  return is_enough ? next_world : all_members;
}

GrowthPlan find_growth(const Observation& seen, const api::TrainingJobStatus& status) {
  const auto& policy = seen.job.spec.elastic_policy;
  if (!status.is_world_formed || !status.world_formed_at) return {};
  const auto is_absent = [](const auto& member) { return member.is_absent; };
  const auto may_join = [&](const auto& member) {
    if (member.is_leaving() && is_successor_ready(seen, member)) return true;
    return is_ready(seen, member) && find_node_notice(seen, member.node).empty();
  };
  auto absent = status.members | std::views::filter(is_absent);
  if (!std::ranges::any_of(absent, may_join)) return {};
  // A user has removed the policy since the world was formed: the next world has all members.
  if (!policy) return {.is_due = std::ranges::all_of(absent, may_join)};
  const WallTime due_at{status.world_formed_at->since_epoch +
                        std::chrono::seconds(policy->grow_cooldown_seconds)};
  if (due_at <= seen.wall_now) return {.is_due = true};  // then only the hand-over is awaited
  return {.due_at = due_at};
}

std::uint32_t count_missing(const api::TrainingJobSpec& spec, const std::vector<api::MemberStatus>& members) {
  std::uint32_t missing = 0;
  for (const auto& role : spec.roles) {
    const std::uint32_t wanted = role.replicas.value_or(spec.num_nodes);
    missing += wanted - std::min(wanted, count_present_members(members, role.name));
  }
  return missing;
}

bool is_pod_needed(const Observation& seen, const std::vector<api::MemberStatus>& members,
                   const api::Pod& pod) {
  const bool is_member = std::ranges::any_of(members, [&](const auto& m) {
    return m.index == pod.index && m.role == pod.role && m.incarnation == pod.incarnation;
  });
  // If a pod belongs to no current incarnation, the pod belongs to a member's successor, so the job needs
  // this pod.
  if (!is_member || !is_elastic(seen.job, pod.role)) return true;
  return !are_enough_placed(seen, members, pod.role, pod.index);
}

std::size_t count_unreported_processes(const Observation& seen,
                                       const std::vector<api::MemberStatus>& members) {
  std::vector<api::MemberStatus> awaited;
  for (const auto& member : members) {
    const bool is_spare = member.node.empty() && is_elastic(seen.job, member.role) &&
                          are_enough_placed(seen, members, member.role, member.index);
    if (is_spare) continue;
    awaited.push_back(member);
    awaited.back().is_absent = false;
  }
  const Gang gang = gather_joiners(seen, awaited);
  return gang.needed - gang.joiners.size();
}

}  // namespace ratoon::core
