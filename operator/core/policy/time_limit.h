// How long a job may take, without the time in which it was suspended.
#pragma once

#include <optional>
#include <string>

#include "operator/core/decision.h"
#include "operator/core/members/roster.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// The job's time runs from now on, if it does not run already.
void start_active_time(WallTime now, api::TrainingJobStatus& status);
// The job's time stops now.
void stop_active_time(WallTime now, api::TrainingJobStatus& status);

// When the job's time will be over; nothing: no limit, or its time does not run.
[[nodiscard]] std::optional<WallTime> time_limit_end(const api::TrainingJobSpec& spec,
                                                     const api::TrainingJobStatus& status);

// The time is over: the job saves, and fails.
[[nodiscard]] Decision end_at_time_limit(const Observation& seen, const RosterChange& change,
                                         std::optional<Timestamp> next_check, api::TrainingJobStatus status);

}  // namespace ratoon::core
