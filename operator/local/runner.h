// Runner (`ratoon run`): runs one job with the operator's core on one machine. Runner hosts the coordinator
// on loopback and starts members as process groups. The next run in the same folder continues the job.
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

// The time at which the run must end, if this time is known when the run begins. The trainers get the same
// time, and save and exit before it.
struct RunEnd {
  Timestamp at;
  std::string reason;  // `the time limit of 4h`
};

struct RunOptions {
  api::TrainingJob job;
  std::filesystem::path folder;
  // Where members save if their command lines do not name a folder; empty: in `folder`.
  std::filesystem::path save_folder{};
  // The GPUs, as in CUDA_VISIBLE_DEVICES, which the processes get in turn; empty: each process sees all.
  std::vector<std::string> devices{};
  // Whether the members share this machine's memory for staging. False if RATOON_STAGING_MEMORY_MIB of this
  // program, which the members inherit, has the size.
  bool shares_staging_memory = true;
  std::optional<std::string> metrics_port{};  // RATOON_METRICS_PORT of this program
  WallTime began;                             // the time limit of a trainer counts from here
  std::optional<RunEnd> end{};
  std::function<void(const std::string& line)> print;
  LossPlan losses{};         // losses on purpose
  bool starts_over = false;  // sets aside the files of earlier runs of the job first
  // The option that the message about a completed run recommends to users who want to start over.
  std::string start_over_hint = "another --folder";
  // Whether `show` displays the last durable step. If true, the run prints no lines about checkpoints,
  // because they would scroll lines about losses off the screen.
  bool shows_checkpoints = false;
  // Whether the members' output is shown while they run. If true, the last lines of a failed member are not
  // printed again.
  bool shows_member_output = false;
  // The runner calls this function ten times a second while it waits, so it must not block. May be empty.
  std::function<void()> while_waiting{};
  // The runner calls this function with the content of status.json after each change and every second. May be
  // empty.
  std::function<void(const nlohmann::json& document)> show{};
};

// Runs the job to its end and returns the exit code: that of run_exit.h if the job ended, 80 if the run
// stopped because of RunOptions::end, 130 after Ctrl-C. Returns an error if the run cannot begin. Blocks the
// signals of RunnerWakeup in the calling thread, which must be the process's first thread.
[[nodiscard]] Result<int> run(const RunOptions& options, const Clock& clock);

}  // namespace ratoon::local
