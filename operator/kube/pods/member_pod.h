// operator/kube/pods/: pods and nodes. The pod of a member, made from its role's template: the user's fields
// stay, and the fields that a member needs are added.
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

// The annotation of a member without the agent: the UID of the pod with rank 0 whose address it got. Only
// this folder writes and reads it.
inline constexpr std::string_view kMeetsAnnotation = "ratoon.dev/meets";
// The name of the trainer's container. Webhooks of a cluster may insert containers before the trainer's.
inline constexpr std::string_view kTrainerAnnotation = "ratoon.dev/trainer";

// Settings that all members of all jobs share.
struct PodSettings {
  std::string coordinator_url;   // http://10.96.0.7:9443, as pods reach it
  std::string coordinator_ca;    // over TLS: the CA that they trust, PEM
  std::string coordinator_name;  // the name that they expect in its certificate; empty: the URL's host
  std::uint32_t token_seconds = 3600;
  std::uint32_t lost_node_toleration_seconds = 20;
};

// kInvalid if the job needs something that Kubernetes cannot do.
[[nodiscard]] Result<nlohmann::json> make_member_pod(const api::TrainingJob& job, const api::Pod& member,
                                                     const NodesToAvoid& shunned,
                                                     const PodSettings& settings);

}  // namespace ratoon::kube
