// Converts the parts of a TrainingJob from and to JSON: the policies of its spec, and its status.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/contract/fields.h"
#include "operator/api/training_job.h"

namespace ratoon::api {

constexpr std::size_t kRolesMax = 8;
constexpr std::uint32_t kMembersMax = 4096;  // of a role

[[nodiscard]] CheckpointPolicy read_checkpoint_policy(Fields f);
[[nodiscard]] DataPolicy read_data_policy(Fields f);
[[nodiscard]] TopologyPolicy read_topology(Fields f);
[[nodiscard]] DisruptionPolicy read_disruption_policy(Fields f);
[[nodiscard]] RestartPolicy read_restart_policy(Fields f);
[[nodiscard]] DecidingRoles read_success_policy(Fields f);
[[nodiscard]] DecidingRoles read_failure_policy(Fields f);
[[nodiscard]] CleanPodPolicy read_clean_pod_policy(Fields f);
[[nodiscard]] TrainingJobStatus read_status(Fields f);

}  // namespace ratoon::api
