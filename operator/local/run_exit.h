// The exit code of `ratoon run` for a finished job.
#pragma once

#include "operator/api/training_job.h"

namespace ratoon::local {

// 0: completed. 82, 83 and 84 of a trainer are passed on if they ended the job, so that a script can
// distinguish a wrong option from a full disk without a log. 1: failed otherwise.
[[nodiscard]] int exit_code_of(const api::TrainingJobStatus& status);

}  // namespace ratoon::local
