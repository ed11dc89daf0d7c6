// How long a finished job is kept. Its final status is stored before it is deleted: if the job is applied
// again, the new job must not have the old one's end.
#pragma once

#include <optional>

#include "operator/core/decision.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// When a finished job is deleted; nothing: never.
[[nodiscard]] std::optional<WallTime> expires_at(const api::TrainingJobSpec& spec,
                                                 const api::TrainingJobStatus& status);

// Deletes the job if it is time, else sets the wake-up time. Only for a job whose stored status is final.
void expire_job(const Observation& seen, Timestamp now, Decision& decision);

}  // namespace ratoon::core
