// Finishes a job as Succeeded or Failed: sets its final status, deletes its pods, and makes the last
// announcement to its agents.
#pragma once

#include <string>
#include <vector>

#include "operator/core/decision.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// Returns the decision that ends the job: removes its members and asks the agents to leave. `news`: events
// that are added to the decision.
[[nodiscard]] Decision finish(const Observation& seen, api::TrainingJobStatus status, api::JobPhase phase,
                              std::string message, std::vector<Action> news = {});

}  // namespace ratoon::core
