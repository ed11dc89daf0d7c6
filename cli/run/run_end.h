// Computes when a run on this machine must end because of a time limit or the end of its Slurm job.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/core/clock.h"
#include "operator/api/training_job.h"
#include "operator/local/runner.h"

namespace ratoon::cli {

struct RunBeginning {
  Timestamp at;
  WallTime wall_time;
  std::function<std::optional<std::string>(const char* name)> variable;  // of this program's environment
};

// Pure. Returns the earlier of two times: the trainer's --time-limit, counted from the run's beginning, and
// the end of the Slurm job. Returns nothing if neither of the two times exists, or if the trainer does not
// use Ratoon. Ignores an invalid time limit, because the trainer refuses to start with an invalid time limit.
[[nodiscard]] std::optional<local::RunEnd> find_run_end(const api::TrainingJob& job,
                                                        const RunBeginning& beginning);

}  // namespace ratoon::cli
