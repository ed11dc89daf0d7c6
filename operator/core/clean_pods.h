// Which pods of a job that is over are deleted.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "operator/core/decision.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// None: no pod; members that run are told to leave. Running: those that run and do not end by themselves; a
// trainer that ended counts as one that runs once other containers of its pod outlive it for long. All:
// these, and those that ended, with their logs; a member that is done is waited for.
[[nodiscard]] std::vector<Action> clean_pods(const Observation& seen, const api::TrainingJobStatus& status,
                                             const std::string& reason);

// When the next of those that run beside a trainer has outlived it for too long.
[[nodiscard]] std::optional<WallTime> next_end_of_rest(const Observation& seen,
                                                       const api::TrainingJobStatus& status);

}  // namespace ratoon::core
