// Finds the value of a trainer's option in the container's `env` or on the trainer's command line (from the
// job's file, or after `--` of `ratoon run` and `ratoon launch`).
#pragma once

#include <optional>
#include <string>

#include "operator/api/training_job.h"

namespace ratoon::local {

struct TrainerOption {
  const char* flag;
  const char* variable;
};

// Pure. A flag of any role has priority over a variable. Returns nothing if the option is not given.
[[nodiscard]] std::optional<std::string> find_trainer_option(const api::TrainingJob& job,
                                                             const TrainerOption& option);

}  // namespace ratoon::local
