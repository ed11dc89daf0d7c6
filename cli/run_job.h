// What `ratoon run` and `ratoon launch` share.
#pragma once

#include <filesystem>
#include <string>

#include "operator/api/training_job.h"
#include "operator/local/loss_schedule.h"

namespace ratoon::cli {

struct RunJobOptions {
  std::filesystem::path folder{};  // empty: ratoon-runs/<job>
  local::LossPlan losses{};        // on purpose
  bool starts_over = false;
  bool is_sure = false;                                // starts over without being asked
  std::string how_to_start_over = "another --folder";  // for a person whose run has completed
};

// Runs a TrainingJob on this machine, with lines for a person, or on a terminal with a view of the run.
// Returns the exit code; what went wrong has been said.
[[nodiscard]] int run_job(const api::TrainingJob& job, const RunJobOptions& options);

// Trainers that lie beside the ratoon program are found, after everything that the user's own PATH finds.
void search_beside_this_program();

}  // namespace ratoon::cli
