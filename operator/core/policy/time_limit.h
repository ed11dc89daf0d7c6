// The limit of a job's duration, without the time in which it was suspended.
#pragma once

#include <optional>
#include <string>

#include "operator/core/decision.h"
#include "operator/core/members/roster.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// Starts the job's time, if the time does not run already.
void start_active_time(WallTime now, api::TrainingJobStatus& status);
// Stops the job's time.
void stop_active_time(WallTime now, api::TrainingJobStatus& status);

// The time at which the job's time will be over; nothing: there is no limit, or the time does not run.
[[nodiscard]] std::optional<WallTime> time_limit_end(const api::TrainingJobSpec& spec,
                                                     const api::TrainingJobStatus& status);

// Acts on the end of the time: the job saves, and fails.
[[nodiscard]] Decision end_at_time_limit(const Observation& seen, const RosterChange& change,
                                         std::optional<Timestamp> next_check, api::TrainingJobStatus status);

}  // namespace ratoon::core
