// Finds the value of a trainer's option: on its command line, which comes from the job's file or stands after
// `--` of `ratoon run` and `ratoon launch`, or in the container's `env`.
#pragma once

#include <optional>
#include <string>

#include "operator/api/training_job.h"

namespace ratoon::local {

struct TrainerOption {
  const char* flag;
  const char* variable;
};

// Pure. A flag, of any role, has priority over a variable. Returns nothing if the option is not given.
[[nodiscard]] std::optional<std::string> find_trainer_option(const api::TrainingJob& job,
                                                             const TrainerOption& option);

}  // namespace ratoon::local
