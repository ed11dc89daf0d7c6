// Runner: the operator's core on one machine. It hosts the coordinator on loopback, starts members as process
// groups and lives exactly as long as the run; the next run in the same folder goes on where this one stood.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include <ratoon/result.h>

#include "base/core/clock.h"
#include "operator/api/training_job.h"

namespace ratoon::local {

struct RunOptions {
  api::TrainingJob job;
  std::filesystem::path folder;
  std::string program_folder;  // searched for trainers after PATH
  std::function<void(const std::string& line)> print;
};

// Runs the job to its end and returns the exit code: 0 completed, 130 interrupted by Ctrl-C, 1 failed. Errors
// are for what stops a run before it begins. Blocks SIGCHLD, SIGINT and SIGTERM in the calling thread, which
// must be the first.
[[nodiscard]] Result<int> run(const RunOptions& options, const Clock& clock);

// The status with which a run goes on after its runner is gone: nothing of the old members is left.
[[nodiscard]] api::TrainingJobStatus recover_status(api::TrainingJobStatus status);

}  // namespace ratoon::local
