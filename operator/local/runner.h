// Runner: the operator's core on one machine. The runner hosts the coordinator on loopback, starts members as
// process groups and ends with the run. The next run in the same folder continues from its checkpoints.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include <ratoon/result.h>

#include "base/core/clock.h"
#include "operator/api/training_job.h"
#include "operator/local/control/loss_schedule.h"

namespace ratoon::local {

// The end of a run that is known from its beginning: its trainers know the end, too, and save and leave
// before it.
struct RunEnd {
  Timestamp at;
  std::string why;  // "the time limit of 4h"
};

struct RunOptions {
  api::TrainingJob job;
  std::filesystem::path folder;
  // The place where members save, unless their command lines name another one; empty: in `folder`.
  std::filesystem::path save_folder{};
  std::optional<std::string> metrics_port{};  // RATOON_METRICS_PORT of this program
  WallTime began;                             // the time limit of a trainer counts from here
  std::optional<RunEnd> end{};
  std::function<void(const std::string& line)> print;
  LossPlan losses{};         // losses on purpose
  bool starts_over = false;  // sets aside the files of earlier runs of the job first
  // The end of "to start over, pass ..." in the message about a completed run.
  std::string how_to_start_over = "another --folder";
  // Whether `show` displays the last durable step. If `show` displays the step, checkpoints get no lines of
  // their own, which would scroll the losses away.
  bool shows_checkpoints = false;
  // Whether the lines of members are shown as they come. If so, the lines of a member that failed are not
  // repeated.
  bool shows_lines_of_members = false;
  // May be empty. The function is called every tenth of a second while the run waits; it must not block.
  std::function<void()> while_waiting{};
  // May be empty. Receives the content of status.json after each change and every second.
  std::function<void(const nlohmann::json& document)> show{};
};

// Runs the job to its end and returns the exit code: 0 completed, 80 left because of `end`, 130 interrupted
// by Ctrl-C, 1 failed. Returns an error if the run cannot begin. Blocks SIGCHLD, SIGINT and SIGTERM in the
// calling thread, which must be the first thread.
[[nodiscard]] Result<int> run(const RunOptions& options, const Clock& clock);

}  // namespace ratoon::local
