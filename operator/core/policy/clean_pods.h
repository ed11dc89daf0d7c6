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
// outlive the trainer for long. cleanPodPolicy All: also deletes pods that have ended, with their logs; pods
// of completed members may end by themselves first.
[[nodiscard]] std::vector<Action> clean_pods(const Observation& seen, const api::TrainingJobStatus& status,
                                             const std::string& reason);

// Returns when the next sidecar container will have outlived its trainer for too long.
[[nodiscard]] std::optional<WallTime> next_sidecar_deadline(const Observation& seen,
                                                            const api::TrainingJobStatus& status);

}  // namespace ratoon::core
