// Which pods of a finished job are deleted.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "operator/core/decision.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// None: no pod is deleted; running members are asked to leave. Running: pods that run and do not end by
// themselves; a pod whose trainer ended counts as running if other containers outlive the trainer for long.
// All: the same pods, and pods that ended, with their logs; pods of completed members may end by themselves
// first.
[[nodiscard]] std::vector<Action> clean_pods(const Observation& seen, const api::TrainingJobStatus& status,
                                             const std::string& reason);

// The time at which the next sidecar container has outlived its trainer for too long.
[[nodiscard]] std::optional<WallTime> next_sidecar_deadline(const Observation& seen,
                                                            const api::TrainingJobStatus& status);

}  // namespace ratoon::core
