// The functions that `ratoon run` and `ratoon launch` share.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "operator/api/training_job.h"
#include "operator/local/control/loss_schedule.h"

namespace ratoon::cli {

struct RunJobOptions {
  std::filesystem::path folder{};       // empty: ratoon-runs/<job>
  std::filesystem::path save_folder{};  // where members save unless their words say otherwise; empty: in it
  std::vector<std::string> devices{};   // GPUs that the processes get in turn; empty: each process sees all
  local::LossPlan losses{};             // losses that are made on purpose
  bool starts_over = false;
  bool is_confirmed = false;                         // starts over without asking the user
  bool shows_member_output = false;                  // as they come, each with the number of its process
  std::string start_over_hint = "another --folder";  // shown to a user whose run has completed
};

// Runs a TrainingJob on this machine and prints lines for people; on a terminal it also shows a live picture
// of the run. run_job() prints its errors itself and returns the exit code.
[[nodiscard]] int run_job(const api::TrainingJob& job, const RunJobOptions& options);

// Appends the folder of the ratoon program to PATH, so that a trainer in that folder is found if no other
// folder of PATH has a program with its name.
void add_own_folder_to_path();

}  // namespace ratoon::cli
