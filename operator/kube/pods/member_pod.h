// operator/kube/pods/: pods and nodes. This header makes the pod of a member from its role's template: keeps
// the user's fields and adds the fields that a member needs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include <ratoon/result.h>

#include "base/contract/names.h"
#include "operator/api/pod.h"
#include "operator/api/training_job.h"
#include "operator/kube/pods/placement.h"

namespace ratoon::kube {

// An annotation of a pod without the agent: the UID of the pod with rank 0 whose address it received. Only
// code in operator/kube/pods/ writes and reads the annotation with the container's name.
inline constexpr std::string_view kMeetsAnnotation = "ratoon.dev/meets";
// An annotation with the name of the trainer's container: webhooks may insert containers before it.
inline constexpr std::string_view kTrainerAnnotation = "ratoon.dev/trainer";

// Settings for the pods of all members of all jobs.
struct PodSettings {
  std::string coordinator_url;   // http://10.96.0.7:9443, as pods reach it
  std::string coordinator_ca;    // over TLS: the CA that they trust, PEM
  std::string coordinator_name;  // the name that they expect in its certificate; empty: the URL's host
  std::uint32_t token_seconds = 3600;
  std::uint32_t lost_node_toleration_seconds = 20;
};

// Returns the pod, or kInvalid if no valid pod can be made from the job's template.
[[nodiscard]] Result<nlohmann::json> make_member_pod(const api::TrainingJob& job, const api::Pod& member,
                                                     const NodesToAvoid& shunned,
                                                     const PodSettings& settings);

}  // namespace ratoon::kube
