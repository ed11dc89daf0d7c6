// The exit code of `ratoon run`, whose job has come to its end.
#pragma once

#include "operator/api/training_job.h"

namespace ratoon::local {

// 0 completed. What a trainer said with 82, 83 or 84 is said once more, if that is what ended the job:
// scripts need not read a log to know a wrong option from a full disk. 1: it failed otherwise.
[[nodiscard]] int exit_code_of(const api::TrainingJobStatus& status);

}  // namespace ratoon::local
