// Deletes finished jobs after their time to live. The operator stores a job's final status before it deletes
// the job: if the user applies the job again, the new job must not inherit the old job's end.
#pragma once

#include <optional>

#include "operator/core/decision.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// Returns when a finished job is to be deleted, or nothing if it is kept.
[[nodiscard]] std::optional<WallTime> expires_at(const api::TrainingJobSpec& spec,
                                                 const api::TrainingJobStatus& status);

// Adds the job's deletion to the decision if its time to live has passed, else sets when to decide again.
// Call this only for a job whose stored status is final.
void expire_job(const Observation& seen, Timestamp now, Decision& decision);

}  // namespace ratoon::core
