// The additions to the first container of a member, the trainer.
#pragma once

#include <nlohmann/json.hpp>

#include "operator/api/pod.h"
#include "operator/api/training_job.h"
#include "operator/kube/pods/member_pod.h"

namespace ratoon::kube {

inline constexpr const char* kTokenVolume = "ratoon-token";
inline constexpr const char* kTokenPath = "/var/run/secrets/ratoon.dev";
inline constexpr const char* kTokenFileName = "token";
inline constexpr const char* kCheckpointVolume = "ratoon-checkpoints";
inline constexpr const char* kCheckpointPath = "/ratoon/checkpoints";
inline constexpr const char* kStagingVolume = "ratoon-staging";
inline constexpr const char* kStagingPath = "/ratoon/staging";

// The port on which the trainer serves metrics: from the user's variable, or the default.
[[nodiscard]] std::uint16_t metrics_port_of(const nlohmann::json& container);

// `pod_spec` must have a container and the pod's grace period.
void complete_trainer(nlohmann::json& pod_spec, const api::TrainingJob& job, const api::Pod& member,
                      const PodSettings& settings);

}  // namespace ratoon::kube
