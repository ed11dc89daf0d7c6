// How long a job that is over is kept. What says that it is over is stored first: a job that is deleted and
// applied again is another job, and this one's end must not be its own.
#pragma once

#include <optional>

#include "operator/core/decision.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// When a job that is over goes, if it ever does.
[[nodiscard]] std::optional<WallTime> expires_at(const api::TrainingJobSpec& spec,
                                                 const api::TrainingJobStatus& status);

// Deletes it if it is time, else wakes up when it is. Only of a job whose stored status says that it is over.
void end_of_life(const Observation& seen, Timestamp now, Decision& decision);

}  // namespace ratoon::core
