#include "operator/core/policy/clean_pods.h"

#include <chrono>
#include <utility>

#include "operator/core/members/roster.h"
#include "operator/core/wake_time.h"

namespace ratoon::core {
namespace {

// After the trainer's end, wait this long for sidecar containers, because many of them end by themselves.
constexpr auto kSidecarTimeout = std::chrono::seconds(30);

WallTime sidecar_deadline(const Observation& seen, const api::Pod& pod) {
  const WallTime latest{seen.wall_now.since_epoch + kSidecarTimeout};
  // If the node's clock is far ahead, this deadline might be hours away: delete the pod now.
  if (!pod.ended_at || *pod.ended_at > latest) return seen.wall_now;
  return {pod.ended_at->since_epoch + kSidecarTimeout};
}

bool is_sidecar_overdue(const Observation& seen, const api::Pod& pod) {
  return pod.has_running_sidecars && sidecar_deadline(seen, pod) <= seen.wall_now;
}

}  // namespace

std::optional<WallTime> next_sidecar_deadline(const Observation& seen, const api::TrainingJobStatus& status) {
  std::optional<WallTime> next;
  for (const auto& pod : seen.pods) {
    const bool stays =
        seen.job.spec.clean_pod_policy == api::CleanPodPolicy::kNone && is_in_roster(pod, status.members);
    if (pod.has_running_sidecars && !pod.is_deleting && !stays && !is_sidecar_overdue(seen, pod))
      next = earlier(next, std::optional(sidecar_deadline(seen, pod)));
  }
  return next;
}

std::vector<Action> clean_pods(const Observation& seen, const api::TrainingJobStatus& status,
                               const std::string& reason) {
  const api::CleanPodPolicy policy = seen.job.spec.clean_pod_policy;
  std::vector<Action> actions;
  if (policy == api::CleanPodPolicy::kNone) {
    // Delete pods of superseded incarnations: the coordinator tells only current members that the job is
    // over, so these pods would occupy their nodes forever.
    for (const auto& pod : seen.pods) {
      const bool is_still_there = !pod.has_ended() || is_sidecar_overdue(seen, pod);
      if (!pod.is_deleting && is_still_there && !is_in_roster(pod, status.members))
        actions.push_back(DeletePod{.name = pod.name, .uid = pod.uid, .reason = reason});
    }
    return actions;
  }
  // Pods of completed members end by themselves. Pods of replaced members, and of members that were never in
  // a world, do not end by themselves.
  auto leaving_by_themselves = status.members;
  std::erase_if(leaving_by_themselves, [](const auto& member) { return !member.is_completed; });
  for (const auto& pod : seen.pods) {
    if (pod.is_deleting) continue;
    const bool ends_by_itself =
        status.phase == api::JobPhase::kSucceeded && is_in_roster(pod, leaving_by_themselves);
    const bool is_to_go = is_sidecar_overdue(seen, pod) ||
                          (pod.has_ended() ? policy == api::CleanPodPolicy::kAll : !ends_by_itself);
    if (!is_to_go) continue;
    Action removal = DeletePod{
        .name = pod.name, .uid = pod.uid, .reason = reason, .has_grace = !api::reports_steps(seen.job.spec)};
    actions.push_back(std::move(removal));
  }
  return actions;
}

}  // namespace ratoon::core
