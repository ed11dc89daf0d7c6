// Converts the policies in a TrainingJob's spec from JSON.
#pragma once

#include "base/contract/fields.h"
#include "operator/api/training_job.h"

namespace ratoon::api {

[[nodiscard]] CheckpointPolicy read_checkpoint_policy(Fields f);
[[nodiscard]] DataPolicy read_data_policy(Fields f);
[[nodiscard]] DisruptionPolicy read_disruption_policy(Fields f);
[[nodiscard]] RestartPolicy read_restart_policy(Fields f);
[[nodiscard]] DecidingRoles read_success_policy(Fields f);
[[nodiscard]] DecidingRoles read_failure_policy(Fields f);
[[nodiscard]] CleanPodPolicy read_clean_pod_policy(Fields f);

}  // namespace ratoon::api
