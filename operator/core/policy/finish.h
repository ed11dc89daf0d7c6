// The end of a job, as Succeeded or Failed: its last status, the deletion of its pods, and the last
// announcement to its agents.
#pragma once

#include <string>
#include <vector>

#include "operator/core/decision.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// No member is needed any longer, and agents are asked to leave. `news` are the events that this decision has
// found so far.
[[nodiscard]] Decision finish(const Observation& seen, api::TrainingJobStatus status, api::JobPhase phase,
                              std::string message, std::vector<Action> news = {});

}  // namespace ratoon::core
