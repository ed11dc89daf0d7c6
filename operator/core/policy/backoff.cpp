#include "operator/core/policy/backoff.h"

#include <algorithm>
#include <chrono>

namespace ratoon::core {
namespace {

// Returns whether the loss has a cause outside the program that may also hit the member's next pod: missing
// storage, a node that starts no pods, an unusable accelerator, or no connection to the operator or to other
// members.
bool is_outage(const Loss& loss) {
  return loss.is_kubelet_rejection || loss.is_storage_fault || loss.is_whole_job_unheard ||
         loss.is_unreachable || loss.is_device_fault;
}

// Returns whether the member's next pod must wait, because it might fail as the previous pod did.
bool needs_pause(const Loss& loss) {
  return loss.cause == EndCause::kApplication || is_outage(loss);
}

bool is_any_pause_needed(const std::vector<Loss>& losses) {
  return std::ranges::any_of(losses, needs_pause);
}

// Returns the pause for a member outside the current world. The pause does not depend on steps of the world,
// because these steps do not show whether this member works. If a member will be replaced by a successor, the
// pause before its next successor grows with the number of its successors that failed.
Duration pause_outside_world(const api::RestartPolicy& policy, const api::MemberStatus& member) {
  if (!member.is_leaving())
    return policy.backoff_seconds == 0 ? Duration(0) : std::chrono::seconds(policy.backoff_max_seconds);
  return pause_after_crashes(policy, std::max(1U, member.successor - member.incarnation - 1));
}

template <class PauseOf>
void delay_next_pods(const Observation& seen, const std::vector<Loss>& losses, const PauseOf& pause_of,
                     RosterChange& change) {
  for (const auto& loss : losses) {
    if (!needs_pause(loss)) continue;
    for (auto& member : change.members) {
      const bool is_it = member.index == loss.member.index && member.role == loss.member.role;
      // A pause would have no effect if the pod that it must delay (the member's or its successor's) exists.
      const bool is_there = !(member.is_leaving() ? member.successor_uid : member.uid).empty();
      const Duration pause = pause_of(loss, member);
      if (!is_it || is_there || pause == Duration(0)) continue;
      member.next_pod_not_before = WallTime{seen.wall_now.since_epoch + pause};
    }
  }
}

}  // namespace

Duration pause_after_crashes(const api::RestartPolicy& policy, std::uint32_t consecutive_crashes) {
  constexpr std::uint32_t kDoublingsMax = 12;  // enough for the longest pause
  if (consecutive_crashes == 0) return Duration(0);
  const std::uint64_t pause = std::uint64_t{policy.backoff_seconds}
                              << std::min(consecutive_crashes - 1, kDoublingsMax);
  return std::chrono::seconds(std::min<std::uint64_t>(pause, policy.backoff_max_seconds));
}

void delay_crashed_members(const Observation& seen, bool has_stepped, RosterChange& change) {
  const auto& before = seen.job.status.restarts;
  change.restarts.consecutive_crashes = has_stepped ? 0 : before.consecutive_crashes;
  const auto& policy = seen.job.spec.restart_policy;
  const bool stands = seen.job.status.is_world_formed;
  if (is_any_pause_needed(change.losses) || (!stands && is_any_pause_needed(change.outside_losses)))
    ++change.restarts.consecutive_crashes;
  const std::uint32_t crashes = change.restarts.consecutive_crashes;
  // If a member was lost because of its node's network or accelerator, its first replacement starts without a
  // pause, because the replacement may work on another node.
  const auto as_in_a_row = [&](const Loss& loss, const api::MemberStatus&) {
    return pause_after_crashes(policy, loss.is_unreachable || loss.is_device_fault ? crashes - 1 : crashes);
  };
  delay_next_pods(seen, change.losses, as_in_a_row, change);
  if (!stands) return delay_next_pods(seen, change.outside_losses, as_in_a_row, change);
  delay_next_pods(
      seen, change.outside_losses,
      [&](const Loss&, const api::MemberStatus& member) { return pause_outside_world(policy, member); },
      change);
}

void record_kubelet_rejection(const RosterChange& change, api::TrainingJobStatus& status) {
  for (const auto* losses : {&change.losses, &change.outside_losses})
    for (const auto& loss : *losses)
      if (is_outage(loss)) status.kubelet_rejection = loss.member.node + ": " + loss.reason;
  forget_rejection_if_none_waits(status);
}

void forget_rejection_if_none_waits(api::TrainingJobStatus& status) {
  const bool is_any_waiting = std::ranges::any_of(
      status.members, [](const api::MemberStatus& member) { return member.next_pod_not_before.has_value(); });
  if (!is_any_waiting) status.kubelet_rejection.clear();
}

std::optional<WallTime> end_pauses(const Observation& seen, std::vector<api::MemberStatus>& members) {
  // If the clock went back since a pause began, the stored moment may be days away.
  const auto longest = std::chrono::seconds(seen.job.spec.restart_policy.backoff_max_seconds);
  const WallTime latest{seen.wall_now.since_epoch + longest};
  std::optional<WallTime> next;
  for (auto& member : members) {
    if (!member.next_pod_not_before) continue;
    member.next_pod_not_before = std::min(*member.next_pod_not_before, latest);
    if (*member.next_pod_not_before <= seen.wall_now) {
      member.next_pod_not_before.reset();
    } else {
      next = std::min(*member.next_pod_not_before, next.value_or(*member.next_pod_not_before));
    }
  }
  return next;
}

}  // namespace ratoon::core
