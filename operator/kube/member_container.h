// What the first container of a member, the trainer, gets beside what its template says.
#pragma once

#include <nlohmann/json.hpp>

#include "operator/api/pod.h"
#include "operator/api/training_job.h"
#include "operator/kube/member_pod.h"

namespace ratoon::kube {

inline constexpr const char* kTokenVolume = "ratoon-token";
inline constexpr const char* kTokenPath = "/var/run/secrets/ratoon.dev";
inline constexpr const char* kTokenFileName = "token";
inline constexpr const char* kCheckpointVolume = "ratoon-checkpoints";
inline constexpr const char* kCheckpointPath = "/ratoon/checkpoints";
inline constexpr const char* kStagingVolume = "ratoon-staging";
inline constexpr const char* kStagingPath = "/ratoon/staging";

// The port on which the trainer serves metrics: the user's variable, or the usual one.
[[nodiscard]] std::uint16_t metrics_port_of(const nlohmann::json& container);

// `pod_spec` has a container, and the grace period that the pod will have.
void complete_trainer(nlohmann::json& pod_spec, const api::TrainingJob& job, const api::Pod& member,
                      const PodSettings& settings);

}  // namespace ratoon::kube
