// Runner: the operator's core on one machine. It hosts the coordinator on loopback, starts members as process
// groups and lives exactly as long as the run; the next run in the same folder goes on where this one stood.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include <ratoon/result.h>

#include "base/core/clock.h"
#include "operator/api/training_job.h"
#include "operator/local/loss_schedule.h"

namespace ratoon::local {

struct RunOptions {
  api::TrainingJob job;
  std::filesystem::path folder;
  std::function<void(const std::string& line)> print;
  LossPlan losses{};         // on purpose
  bool starts_over = false;  // what the folder holds of this job is set aside first
  // What a person is told whose run has completed already: "to start over, pass" this.
  std::string how_to_start_over = "another --folder";
  // Whether `show` draws the last durable step: a line for each would push the losses out of sight.
  bool shows_checkpoints = false;
  // May be empty: sees what is written to status.json, whenever something happened and every second.
  std::function<void(const nlohmann::json& document)> show{};
};

// Runs the job to its end and returns the exit code: 0 completed, 130 interrupted by Ctrl-C, 1 failed. Errors
// are for what stops a run before it begins. Blocks SIGCHLD, SIGINT and SIGTERM in the calling thread, which
// must be the first.
[[nodiscard]] Result<int> run(const RunOptions& options, const Clock& clock);

}  // namespace ratoon::local
