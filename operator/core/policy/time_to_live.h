// Deletes finished jobs after their time to live. The operator stores a job's final status before it deletes
// the job, so that other controllers do not mistake the deleted job for a failed one.
#pragma once

#include <optional>

#include "operator/core/decision.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// Returns when a finished job is to be deleted, or nothing if it is kept.
[[nodiscard]] std::optional<WallTime> expires_at(const api::TrainingJobSpec& spec,
                                                 const api::TrainingJobStatus& status);

// If the job's time to live has passed, adds its deletion to the decision; otherwise sets the time of the
// next decision. Call expire_job() only for a job whose stored status is final.
void expire_job(const Observation& seen, Timestamp now, Decision& decision);

}  // namespace ratoon::core
