// Which pods of a job that is over are deleted.
#pragma once

#include <string>
#include <vector>

#include "operator/core/decision.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// None: no pod; members that run are told to leave. Running: those that run and do not end by themselves.
// All: these, and those that ended, with their logs; a member that is done is waited for.
[[nodiscard]] std::vector<Action> clean_pods(const Observation& seen, const api::TrainingJobStatus& status,
                                             const std::string& reason);

}  // namespace ratoon::core
