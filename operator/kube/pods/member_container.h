// Completes the trainer's container, which is the first container of a member's pod.
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
inline constexpr const char* kLauncherVolume = "ratoon-launcher";
inline constexpr const char* kLauncherPath = "/ratoon/launcher";
inline constexpr const char* kLauncherFile = "/ratoon/launcher/ratoon-launcher";

// Returns the port for the trainer's /metrics: from the user's RATOON_METRICS_PORT, or the default.
[[nodiscard]] std::uint16_t metrics_port_of(const nlohmann::json& container);

// Returns the security context of a container that the operator or the CLI adds beside `container` of the
// user. It has no rights, and the user and group IDs and profiles of `container`: a namespace may demand
// these. A field that is null or absent stays absent, because a platform such as OpenShift assigns its value.
[[nodiscard]] nlohmann::json added_container_security(const nlohmann::json& container);

// Completes the first container of `pod_spec`; the grace period must already be set in `pod_spec`.
void complete_trainer_container(nlohmann::json& pod_spec, const api::TrainingJob& job, const api::Pod& member,
                                const PodSettings& settings);

}  // namespace ratoon::kube
