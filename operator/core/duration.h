// How long a job may take, not counting the time for which it was suspended.
#pragma once

#include <optional>
#include <string>

#include "operator/core/decision.h"
#include "operator/core/observation.h"
#include "operator/core/roster.h"

namespace ratoon::core {

// Its time runs from now on, unless it does already.
void resume_time(WallTime now, api::TrainingJobStatus& status);
// Its time stands still from now on.
void stop_time(WallTime now, api::TrainingJobStatus& status);

// When the job's time is over, if it ever is.
[[nodiscard]] std::optional<WallTime> end_of_time(const api::TrainingJobSpec& spec,
                                                  const api::TrainingJobStatus& status);

// It is over: the job saves, and fails.
[[nodiscard]] Decision end_in_time(const Observation& seen, const RosterChange& change,
                                   std::optional<Timestamp> next_check, api::TrainingJobStatus status);

}  // namespace ratoon::core
