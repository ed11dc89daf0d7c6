#include "operator/core/clean_pods.h"

#include "operator/core/roster.h"

namespace ratoon::core {

std::vector<Action> clean_pods(const Observation& seen, const api::TrainingJobStatus& status,
                               const std::string& reason) {
  const api::CleanPodPolicy policy = seen.job.spec.clean_pod_policy;
  std::vector<Action> actions;
  if (policy == api::CleanPodPolicy::kNone) {
    // Members hear that it is over. Who is none any more hears nothing, and would hold its node for ever.
    for (const auto& pod : seen.pods) {
      if (!pod.is_deleting && !pod.has_ended() && !is_named(pod, status.members))
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
    const bool is_to_go = pod.has_ended() ? policy == api::CleanPodPolicy::kAll : !ends_by_itself;
    if (is_to_go)
      actions.push_back(DeletePod{
          .name = pod.name, .uid = pod.uid, .reason = reason, .has_grace = api::is_group(seen.job.spec)});
  }
  return actions;
}

}  // namespace ratoon::core
