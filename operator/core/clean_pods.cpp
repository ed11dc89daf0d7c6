#include "operator/core/clean_pods.h"

#include <chrono>
#include <utility>

#include "operator/core/roster.h"
#include "operator/core/wake.h"

namespace ratoon::core {
namespace {

// Many that run beside a trainer end by themselves when it has.
constexpr auto kRestPatience = std::chrono::seconds(30);

WallTime rest_ends_at(const Observation& seen, const api::Pod& pod) {
  const WallTime latest{seen.wall_now.since_epoch + kRestPatience};
  // A clock that is far ahead must not put it off for ever.
  if (!pod.ended_at || *pod.ended_at > latest) return seen.wall_now;
  return {pod.ended_at->since_epoch + kRestPatience};
}

bool holds_on(const Observation& seen, const api::Pod& pod) {
  return pod.others_run && rest_ends_at(seen, pod) <= seen.wall_now;
}

}  // namespace

std::optional<WallTime> next_end_of_rest(const Observation& seen, const api::TrainingJobStatus& status) {
  std::optional<WallTime> next;
  for (const auto& pod : seen.pods) {
    const bool stays =
        seen.job.spec.clean_pod_policy == api::CleanPodPolicy::kNone && is_named(pod, status.members);
    if (pod.others_run && !pod.is_deleting && !stays && !holds_on(seen, pod))
      next = earlier(next, std::optional(rest_ends_at(seen, pod)));
  }
  return next;
}

std::vector<Action> clean_pods(const Observation& seen, const api::TrainingJobStatus& status,
                               const std::string& reason) {
  const api::CleanPodPolicy policy = seen.job.spec.clean_pod_policy;
  std::vector<Action> actions;
  if (policy == api::CleanPodPolicy::kNone) {
    // Members hear that it is over. Who is none any more hears nothing, and would hold its node for ever.
    for (const auto& pod : seen.pods) {
      const bool is_still_there = !pod.has_ended() || holds_on(seen, pod);
      if (!pod.is_deleting && is_still_there && !is_named(pod, status.members))
        actions.push_back(DeletePod{.name = pod.name, .uid = pod.uid, .reason = reason});
    }
    return actions;
  }
  // Members that completed end by themselves; those that were replaced, or never sat, do not.
  auto leaving_by_themselves = status.members;
  std::erase_if(leaving_by_themselves, [](const auto& member) { return !member.is_completed; });
  for (const auto& pod : seen.pods) {
    if (pod.is_deleting) continue;
    const bool ends_by_itself =
        status.phase == api::JobPhase::kSucceeded && is_named(pod, leaving_by_themselves);
    const bool is_to_go =
        holds_on(seen, pod) || (pod.has_ended() ? policy == api::CleanPodPolicy::kAll : !ends_by_itself);
    if (!is_to_go) continue;
    Action removal = DeletePod{
        .name = pod.name, .uid = pod.uid, .reason = reason, .has_grace = api::is_group(seen.job.spec)};
    actions.push_back(std::move(removal));
  }
  return actions;
}

}  // namespace ratoon::core
