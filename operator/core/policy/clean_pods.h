// Decides which pods of a finished job the operator deletes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "operator/core/decision.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// cleanPodPolicy None: deletes no pod of a current member; the coordinator asks running members to leave.
// cleanPodPolicy Running: deletes pods that run and do not end by themselves, and pods whose other containers
// run long after the trainer ended. cleanPodPolicy All: also deletes pods that have ended, with their logs.
// If the job succeeded, the operator does not delete running pods of completed members, because these pods
// end by themselves.
[[nodiscard]] std::vector<Action> clean_pods(const Observation& seen, const api::TrainingJobStatus& status,
                                             const std::string& reason);

// Returns when the next sidecar container will have run for too long after its trainer ended.
[[nodiscard]] std::optional<WallTime> next_sidecar_deadline(const Observation& seen,
                                                            const api::TrainingJobStatus& status);

}  // namespace ratoon::core
