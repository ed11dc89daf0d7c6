// JobReader: finds a job of a cluster, and runs `ratoon` in a reader pod, which can read the job's
// checkpoints. All commands that use a reader pod have the options of ReaderOptions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include <ratoon/result.h>

#include "cli/cluster/access/job_client.h"
#include "cli/cluster/reader/relayed_output.h"
#include "operator/api/training_job.h"

namespace ratoon::cli {

struct ReaderOptions {
  std::string job;
  ClusterSelection cluster;
  std::string location;  // empty: where the members save
  std::string image;     // empty: the operator's
  std::string node;      // empty: the node of a member
  std::uint32_t start_seconds_max = 300;
};

void add_reader_options(CLI::App& command, ReaderOptions& options);

struct ReaderWork {
  std::vector<std::string> words;  // of `ratoon`; the place of the checkpoints comes behind them
  std::uint32_t seconds_max = 0;   // of the pod
};

class JobReader {
 public:
  // Finds the job.
  [[nodiscard]] static Result<JobReader> open(const ReaderOptions& options);

  [[nodiscard]] const api::TrainingJob& job() const { return job_; }
  // Calls `take` with the output of `ratoon` in the pod. Returns its exit code. Ctrl-C ends the reading.
  [[nodiscard]] Result<int> read(const ReaderWork& work, const RelayedOutput::Take& take) const;

 private:
  JobReader(ReaderOptions options, std::unique_ptr<JobClient> client, api::TrainingJob job)
      : options_(std::move(options)), client_(std::move(client)), job_(std::move(job)) {}

  ReaderOptions options_;
  std::unique_ptr<JobClient> client_;
  api::TrainingJob job_;
};

// Prints text to standard error as it is, because `ratoon` in the pod has made it safe for a terminal.
[[nodiscard]] Result<void> print_errors(std::string_view text);

// Returns the exit code of the command (130 if Ctrl-C interrupted it), and prints the error.
[[nodiscard]] int print_and_exit_code(const Result<int>& read);

}  // namespace ratoon::cli
