#include "operator/core/world/agentless_group.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "operator/core/loss/classify.h"
#include "operator/core/members/notice.h"
#include "operator/core/wake_time.h"

namespace ratoon::core {
namespace {

// After a failure, wait this long for reports about the ends of other members, because kubelets report an end
// within a second or two.
constexpr auto kSettle = std::chrono::seconds(3);
constexpr auto kProof = std::chrono::seconds(60);
// How long after its grace period a deleted pod may still run, because kubelet is busy.
constexpr auto kPreviousGroupTimeout = std::chrono::seconds(30);

// Returns whether the pod belongs to a current incarnation, whose UID may not be stored yet.
bool is_known(const Observation& seen, const api::Pod& pod) {
  return std::ranges::any_of(seen.job.status.members, [&](const auto& m) {
    return pod.index == m.index && pod.role == m.role && pod.incarnation == m.incarnation &&
           (m.uid.empty() || m.uid == pod.uid);
  });
}

std::optional<WallTime> waited_for_until(const api::Pod& pod) {
  if (!pod.ends_at) return std::nullopt;
  return WallTime{pod.ends_at->since_epoch + kPreviousGroupTimeout};
}

// Returns whether the program in a pod, for example of a former group, may still run.
bool may_run(const Observation& seen, const api::Pod& pod) {
  if (pod.has_ended() || (pod.node.empty() && pod.is_deleting)) return false;
  const auto until = waited_for_until(pod);
  if (until && *until <= seen.wall_now) return false;
  return std::ranges::none_of(seen.nodes,
                              [&](const api::Node& node) { return node.name == pod.node && node.is_lost; });
}

}  // namespace

std::optional<api::GroupSeat> find_group_seat(const Observation& seen,
                                              const std::vector<api::MemberStatus>& members,
                                              const api::MemberStatus& member) {
  const std::uint32_t each = seen.job.spec.processes_per_node;
  const auto place = std::ranges::find_if(
      members, [&](const auto& m) { return m.index == member.index && m.role == member.role; });
  api::GroupSeat seat{.master_address = {},
                      .first_rank = static_cast<std::uint32_t>(place - members.begin()) * each,
                      .world_size = static_cast<std::uint32_t>(members.size()) * each};
  if (place == members.begin())
    return find_previous_group_pod(seen, members) == nullptr ? std::optional(seat) : std::nullopt;
  const api::Pod* first = find_pod(seen, members.front());
  if (first == nullptr || first->address.empty()) return std::nullopt;
  // A pod that is being replaced because it found no node may have been placed at this very moment.
  const bool has_twin = std::ranges::any_of(seen.pods, [&](const api::Pod& pod) {
    return pod.meets == first->uid && !is_in_roster(pod, members) && may_run(seen, pod);
  });
  if (has_twin) return std::nullopt;
  seat.master_address = first->address;
  seat.master_uid = first->uid;
  return seat;
}

const api::Pod* find_previous_group_pod(const Observation& seen,
                                        const std::vector<api::MemberStatus>& members) {
  if (!api::is_group(seen.job.spec)) return nullptr;
  const auto found = std::ranges::find_if(seen.pods, [&](const api::Pod& pod) {
    return !pod.node.empty() && !is_in_roster(pod, members) && may_run(seen, pod);
  });
  return found == seen.pods.end() ? nullptr : &*found;
}

std::optional<WallTime> previous_group_deadline(const Observation& seen,
                                                const api::TrainingJobStatus& status) {
  const api::Pod* former = status.is_formed ? nullptr : find_previous_group_pod(seen, status.members);
  return former == nullptr ? std::nullopt : waited_for_until(*former);
}

bool has_reached_end(const Observation& seen, const api::Pod& pod) {
  return pod.phase == api::PodPhase::kSucceeded && !pod.is_deleting && !pod.is_evicted &&
         find_node_notice(seen, pod.node).empty();
}

bool has_lost_rank0_pod(const Observation& seen) {
  const auto& members = seen.job.status.members;
  if (members.empty() || members.front().is_completed) return false;
  const api::Pod* first = find_pod(seen, members.front());
  return std::ranges::any_of(seen.pods, [&](const api::Pod& pod) {
    return !pod.meets.empty() && (first == nullptr || first->uid != pod.meets) && is_known(seen, pod);
  });
}

bool is_any_member_disrupted(const Observation& seen) {
  const auto is_taken = [&](const api::Pod& pod) {
    if (!pod.is_deleting && !pod.has_ended()) return false;
    if (!is_known(seen, pod) || has_reached_end(seen, pod)) return false;
    if (pod.is_deleting || pod.phase == api::PodPhase::kSucceeded) return true;
    return classify(pod, false, seen.job.spec.restart_policy).cause == EndCause::kDisruption;
  };
  const auto has_vanished = [&](const api::MemberStatus& member) {
    return !member.uid.empty() && !member.is_completed && find_pod(seen, member) == nullptr;
  };
  return std::ranges::any_of(seen.pods, is_taken) || has_lost_rank0_pod(seen) ||
         std::ranges::any_of(seen.job.status.members, has_vanished);
}

MemberEnd classify_in_group(bool is_one_disrupted, MemberEnd ending) {
  if (!is_failure(ending)) return ending;
  if (is_one_disrupted) return {EndCause::kDisruption, ending.sentence + ", after another member was lost"};
  ending.is_shared = ending.cause == EndCause::kApplication;
  return ending;
}

std::optional<WallTime> find_judgement_time(const Observation& seen, bool is_one_disrupted,
                                            const api::Pod& pod) {
  if (!pod.ended_at || !is_known(seen, pod) || has_reached_end(seen, pod)) return std::nullopt;
  const WallTime at{pod.ended_at->since_epoch + kSettle};
  // If a node's clock is far ahead, classify the failure now, so that the decision does not wait forever.
  if (at <= seen.wall_now || *pod.ended_at > WallTime{seen.wall_now.since_epoch + kSettle})
    return std::nullopt;
  if (is_one_disrupted || !is_failure(classify(pod, false, seen.job.spec.restart_policy)))
    return std::nullopt;
  return at;
}

std::optional<WallTime> next_judgement_time(const Observation& seen) {
  std::optional<WallTime> next;
  if (!api::is_group(seen.job.spec)) return next;
  const bool is_one_disrupted = is_any_member_disrupted(seen);
  for (const auto& pod : seen.pods) next = earlier(next, find_judgement_time(seen, is_one_disrupted, pod));
  return next;
}

void restart_group(const Observation& seen, RosterChange& change) {
  if (change.losses.empty()) return;
  // Members that are lost together cause only one replacement of the group.
  const auto& before = seen.job.status.restarts;
  auto& after = change.restarts;
  const bool is_failure = after.application + after.hung > before.application + before.hung;
  after.disruption = before.disruption + (is_failure ? 0 : 1);
  std::optional<WallTime> pause;
  for (const auto& member : change.members) pause = std::max(pause, member.not_before);
  for (auto& member : change.members) {
    // Replaces members without a pod in the observation, too: a requested pod may still appear and would join
    // the wrong group. A member that was lost just now already has the number of its next incarnation.
    if (contains(seen.job.status.members, member)) member = make_fresh_incarnation(member);
    member.not_before = pause;
  }
}

bool has_run_long_enough(const Observation& seen) {
  const auto& status = seen.job.status;
  return status.is_formed && status.formed_at &&
         status.formed_at->since_epoch + kProof <= seen.wall_now.since_epoch;
}

}  // namespace ratoon::core
