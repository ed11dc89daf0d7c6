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
constexpr auto kClassificationDelay = std::chrono::seconds(3);
constexpr auto kStableRunTime = std::chrono::seconds(60);
// After a deleted pod's grace period, wait this long for its end, because a busy kubelet may end it late.
constexpr auto kPreviousGroupTimeout = std::chrono::seconds(30);

// Returns whether the pod belongs to a current incarnation, whose UID may not be stored yet.
bool is_current_incarnation(const Observation& seen, const api::Pod& pod) {
  return std::ranges::any_of(seen.job.status.members, [&](const auto& m) {
    return pod.index == m.index && pod.role == m.role && pod.incarnation == m.incarnation &&
           (m.uid.empty() || m.uid == pod.uid);
  });
}

std::optional<WallTime> pod_wait_deadline(const api::Pod& pod) {
  if (!pod.ends_at) return std::nullopt;
  return WallTime{pod.ends_at->since_epoch + kPreviousGroupTimeout};
}

// Returns whether the program in a pod, for example of a former group, may still run.
bool may_program_run(const Observation& seen, const api::Pod& pod) {
  if (pod.has_ended() || (pod.node.empty() && pod.is_deleting)) return false;
  const auto until = pod_wait_deadline(pod);
  if (until && *until <= seen.wall_now) return false;
  return std::ranges::none_of(seen.nodes,
                              [&](const api::Node& node) { return node.name == pod.node && node.is_lost; });
}

}  // namespace

std::optional<api::GroupRankAssignment> find_group_rank_assignment(
    const Observation& seen, const std::vector<api::MemberStatus>& members, const api::MemberStatus& member) {
  const std::uint32_t each = seen.job.spec.processes_per_node;
  const auto place = std::ranges::find_if(
      members, [&](const auto& m) { return m.index == member.index && m.role == member.role; });
  api::GroupRankAssignment seat{.master_address = {},
                                .first_rank = static_cast<std::uint32_t>(place - members.begin()) * each,
                                .world_size = static_cast<std::uint32_t>(members.size()) * each};
  if (place == members.begin())
    return find_previous_group_pod(seen, members) == nullptr ? std::optional(seat) : std::nullopt;
  const api::Pod* first = find_pod(seen, members.front());
  if (first == nullptr || first->address.empty()) return std::nullopt;
  // Wait while a replaced pod of this group may still run. The pod was replaced because it had no node, but
  // the scheduler may give it a node at this very moment.
  const bool has_twin = std::ranges::any_of(seen.pods, [&](const api::Pod& pod) {
    return pod.rank0_pod_uid == first->uid && !is_in_roster(pod, members) && may_program_run(seen, pod);
  });
  if (has_twin) return std::nullopt;
  seat.master_address = first->address;
  seat.master_uid = first->uid;
  return seat;
}

const api::Pod* find_previous_group_pod(const Observation& seen,
                                        const std::vector<api::MemberStatus>& members) {
  if (!api::is_agentless(seen.job.spec)) return nullptr;
  const auto found = std::ranges::find_if(seen.pods, [&](const api::Pod& pod) {
    return !pod.node.empty() && !is_in_roster(pod, members) && may_program_run(seen, pod);
  });
  return found == seen.pods.end() ? nullptr : &*found;
}

std::optional<WallTime> previous_group_deadline(const Observation& seen,
                                                const api::TrainingJobStatus& status) {
  const api::Pod* former = status.is_world_formed ? nullptr : find_previous_group_pod(seen, status.members);
  return former == nullptr ? std::nullopt : pod_wait_deadline(*former);
}

bool has_program_completed(const Observation& seen, const api::Pod& pod) {
  return pod.phase == api::PodPhase::kSucceeded && !pod.is_deleting && !pod.is_evicted &&
         find_node_notice(seen, pod.node).empty();
}

bool has_lost_rank0_pod(const Observation& seen) {
  const auto& members = seen.job.status.members;
  if (members.empty() || members.front().is_completed) return false;
  const api::Pod* first = find_pod(seen, members.front());
  return std::ranges::any_of(seen.pods, [&](const api::Pod& pod) {
    return !pod.rank0_pod_uid.empty() && (first == nullptr || first->uid != pod.rank0_pod_uid) &&
           is_current_incarnation(seen, pod);
  });
}

bool is_any_member_disrupted(const Observation& seen) {
  const auto is_taken = [&](const api::Pod& pod) {
    if (!pod.is_deleting && !pod.has_ended()) return false;
    if (!is_current_incarnation(seen, pod) || has_program_completed(seen, pod)) return false;
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
  if (is_one_disrupted)
    return {EndCause::kDisruption, ending.explanation + ", after another member was lost"};
  ending.is_shared = ending.cause == EndCause::kApplication;
  return ending;
}

std::optional<WallTime> find_classification_time(const Observation& seen, bool is_one_disrupted,
                                                 const api::Pod& pod) {
  if (!pod.ended_at || !is_current_incarnation(seen, pod) || has_program_completed(seen, pod))
    return std::nullopt;
  const WallTime at{pod.ended_at->since_epoch + kClassificationDelay};
  // If a node's clock is far ahead, classify the failure now, so that the decision does not wait for hours.
  if (at <= seen.wall_now || *pod.ended_at > WallTime{seen.wall_now.since_epoch + kClassificationDelay})
    return std::nullopt;
  if (is_one_disrupted || !is_failure(classify(pod, false, seen.job.spec.restart_policy)))
    return std::nullopt;
  return at;
}

std::optional<WallTime> next_classification_time(const Observation& seen) {
  std::optional<WallTime> next;
  if (!api::is_agentless(seen.job.spec)) return next;
  const bool is_one_disrupted = is_any_member_disrupted(seen);
  for (const auto& pod : seen.pods)
    next = earlier(next, find_classification_time(seen, is_one_disrupted, pod));
  return next;
}

void restart_group(const Observation& seen, RosterChange& change) {
  if (change.losses.empty()) return;
  // Members that are lost together count as one loss, because the group is replaced only once.
  const auto& before = seen.job.status.restarts;
  auto& after = change.restarts;
  const bool is_failure = after.application + after.hung > before.application + before.hung;
  after.disruption = before.disruption + (is_failure ? 0 : 1);
  std::optional<WallTime> pause;
  for (const auto& member : change.members) pause = std::max(pause, member.next_pod_not_before);
  for (auto& member : change.members) {
    // Replace even a member that has no pod in the observation: its requested pod may still appear, and would
    // join the wrong group. If this decision has found that a member is lost, the member already has its next
    // incarnation number.
    if (contains(seen.job.status.members, member)) member = make_fresh_incarnation(member);
    member.next_pod_not_before = pause;
  }
}

bool has_group_run_stably(const Observation& seen) {
  const auto& status = seen.job.status;
  return status.is_world_formed && status.world_formed_at &&
         status.world_formed_at->since_epoch + kStableRunTime <= seen.wall_now.since_epoch;
}

}  // namespace ratoon::core
