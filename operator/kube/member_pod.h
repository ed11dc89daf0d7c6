// The pod of a member, made of its role's template: what the user wrote stays, what a member needs is added.
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

namespace ratoon::kube {

// The annotation of a member without the agent: the UID of the pod with rank 0 whose address it was given.
// Only this folder writes it and reads it.
inline constexpr std::string_view kMeetsAnnotation = "ratoon.dev/meets";
// The name of the trainer's container. Webhooks of a cluster may put containers of their own before it.
inline constexpr std::string_view kTrainerAnnotation = "ratoon.dev/trainer";

// What is the same for all members of all jobs.
struct PodSettings {
  std::string coordinator_url;   // http://10.96.0.7:9443, as pods reach it
  std::string coordinator_ca;    // over TLS: whose certificates they trust, PEM
  std::string coordinator_name;  // and the name that they expect in its certificate; empty: the URL's host
  std::uint32_t token_seconds = 3600;
  std::uint32_t lost_node_toleration_seconds = 20;
};

struct ShunnedNodes {
  std::vector<std::string> avoided;  // it must not be placed on these
  std::vector<std::string> sick{};   // nor on these, as long as there is room elsewhere
};

// kInvalid where the job asks for what cannot be done on Kubernetes.
[[nodiscard]] Result<nlohmann::json> make_member_pod(const api::TrainingJob& job, const api::Pod& member,
                                                     const ShunnedNodes& shunned,
                                                     const PodSettings& settings);

}  // namespace ratoon::kube
