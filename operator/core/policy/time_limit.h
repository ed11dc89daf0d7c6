// Limits a job's active time, which does not include the time while the job is suspended.
#pragma once

#include <optional>
#include <string>

#include "operator/core/decision.h"
#include "operator/core/members/roster.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// Starts counting the job's active time, unless it is being counted already.
void start_active_time(WallTime now, api::TrainingJobStatus& status);
// Stops counting the job's active time, for example while it is suspended.
void stop_active_time(WallTime now, api::TrainingJobStatus& status);

// Returns when the job reaches its time limit. Returns nothing if the job has no limit, or if its active time
// is not being counted now.
[[nodiscard]] std::optional<WallTime> time_limit_end(const api::TrainingJobSpec& spec,
                                                     const api::TrainingJobStatus& status);

// Returns the decision at the time limit: the job saves, and then fails.
[[nodiscard]] Decision end_at_time_limit(const Observation& seen, const RosterChange& change,
                                         std::optional<Timestamp> next_check, api::TrainingJobStatus status);

}  // namespace ratoon::core
