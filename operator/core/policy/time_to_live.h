// How long a finished job is kept. The final status of a job is stored before the job is deleted: if the job
// is applied again, the new job must not have the old job's end.
#pragma once

#include <optional>

#include "operator/core/decision.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// The time at which a finished job is deleted; nothing: never.
[[nodiscard]] std::optional<WallTime> expires_at(const api::TrainingJobSpec& spec,
                                                 const api::TrainingJobStatus& status);

// Deletes the job if the time of its deletion has passed, else sets the wake-up time. Call this only for a
// job whose stored status is final.
void expire_job(const Observation& seen, Timestamp now, Decision& decision);

}  // namespace ratoon::core
