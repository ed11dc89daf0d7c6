// The end of a run on this machine that is known from its beginning.
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
  WallTime wall_at;
  std::function<std::optional<std::string>(const char* name)> variable;  // of this program's environment
};

// Pure. The trainer's --time-limit, counted from the run's beginning, or the end of the Slurm job, if that is
// earlier. There is no value if neither is given, if the program does not know Ratoon, or if the text is
// invalid, which the trainer refuses.
[[nodiscard]] std::optional<local::RunEnd> find_run_end(const api::TrainingJob& job,
                                                        const RunBeginning& beginning);

}  // namespace ratoon::cli
