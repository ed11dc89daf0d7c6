// Chooses the exit code of `ratoon run` for a job that has ended.
#pragma once

#include "operator/api/training_job.h"

namespace ratoon::local {

// Returns 0 for a completed job. Returns a trainer's exit code 82, 83 or 84 if it ended the job, so that a
// script can distinguish a wrong option from a full disk without reading logs. Returns 1 for other failures.
[[nodiscard]] int exit_code_of(const api::TrainingJobStatus& status);

}  // namespace ratoon::local
