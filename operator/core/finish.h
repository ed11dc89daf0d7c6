// The end of a job, well or badly: its last status, what becomes of its pods, what agents that still listen
// hear.
#pragma once

#include <string>
#include <vector>

#include "operator/core/decision.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// No member is needed any more, and agents that still listen are told to leave. `news` are of what this look
// found before it came to that.
[[nodiscard]] Decision finish(const Observation& seen, api::TrainingJobStatus status, api::JobPhase phase,
                              std::string message, std::vector<Action> news = {});

}  // namespace ratoon::core
