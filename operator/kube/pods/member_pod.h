// operator/kube/pods/: makes the pods of members, and reads pods and nodes. The functions of this header make
// a member's pod from its role's template: they add the fields that a member needs to the user's fields.
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

// An annotation of a pod without the agent: the UID of the rank 0 pod whose address the pod got at its start.
// Only code in operator/kube/pods/ reads and writes this annotation and the two that follow.
inline constexpr std::string_view kMasterPodAnnotation = "ratoon.dev/meets";
// An annotation with the name of the trainer's container, before which webhooks may insert other containers.
inline constexpr std::string_view kTrainerContainerAnnotation = "ratoon.dev/trainer";
// An annotation with the names of the init containers in the job's template, joined by commas. If another
// init container fails, which a webhook or the operator inserted, the program is not to blame.
inline constexpr std::string_view kInitContainersAnnotation = "ratoon.dev/init-containers";

// Settings for the pods of all members of all jobs.
struct PodSettings {
  std::string coordinator_url;       // http://10.96.0.7:9443, as pods reach it
  std::string coordinator_ca;        // over TLS: the CA that they trust, PEM
  std::string coordinator_name;      // the name that they expect in its certificate; empty: the URL's host
  std::string launcher_image;        // with ratoon-launcher, for roles with agent: Launcher; empty: none
  std::string launcher_pull_policy;  // of that image; empty: the API server's default
  std::uint32_t token_seconds = 3600;
  std::uint32_t lost_node_toleration_seconds = 20;
};

// Returns the pod, or kInvalid if no valid pod can be made from the job's template.
[[nodiscard]] Result<nlohmann::json> make_member_pod(const api::TrainingJob& job, const api::Pod& member,
                                                     const NodesToAvoid& shunned,
                                                     const PodSettings& settings);

}  // namespace ratoon::kube
