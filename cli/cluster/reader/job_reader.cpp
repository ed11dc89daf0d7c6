#include "cli/cluster/reader/job_reader.h"

#include <cstdio>

#include "base/contract/exit_code.h"
#include "base/core/threads/ignore_signal.h"
#include "cli/cluster/access/cluster_options.h"
#include "cli/cluster/reader/read_in_pod.h"
#include "cli/cluster/reader/reader_pod.h"
#include "cli/cluster/reader/stop_on_signal.h"
#include "cli/command.h"

namespace ratoon::cli {

void add_reader_options(CLI::App& command, ReaderOptions& options) {
  command.add_option("job", options.job, "A TrainingJob's name")->required();
  command.add_option(
      "--location", options.location,
      "Where the checkpoints are: a folder in the job's pods, or a URL, such as a copy in a store "
      "(default: where the job's members save)");
  command.add_option("--image", options.image,
                     "The image that has the command `ratoon` (default: that of the job's operator)");
  command.add_option("--node", options.node,
                     "The node of a hostPath volume (default: the node of the first member)");
  command.add_option("--timeout", options.start_seconds_max, "How many seconds to wait until the pod starts")
      ->capture_default_str();
  add_cluster_options(command, options.cluster, /*is_plugin=*/true);
}

Result<JobReader> JobReader::open(const ReaderOptions& options) {
  auto client = JobClient::connect(options.cluster);
  if (!client) return client.error();
  const auto found = (*client)->find(options.job);
  if (!found) return found.error();
  auto job = api::decode_training_job(found->front());
  if (!job) return job.error();
  return JobReader(options, *std::move(client), *std::move(job));
}

Result<int> JobReader::read(const ReaderWork& work, const RelayedOutput::Take& take) const {
  const auto pod = make_reader_pod(job_, {.words = work.words,
                                          .location = options_.location,
                                          .image = options_.image,
                                          .node = options_.node,
                                          .seconds_max = work.seconds_max});
  if (!pod) return pod.error();
  ignore_broken_output_signals();  // a write that fails removes the pod, and a signal would leave it
  const StopOnSignal signals;      // the client has no threads that could get the signals in its place
  return read_in_pod(*client_, *pod, {.start_timeout = std::chrono::seconds(options_.start_seconds_max)},
                     take, signals.token());
}

Result<void> print_errors(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stderr) == text.size()) return {};
  return Error(ErrorKind::kIo, "standard error cannot be written");
}

int print_and_exit_code(const Result<int>& read) {
  if (read) return *read;
  if (read.error().kind() != ErrorKind::kCancelled) return print_error_and_exit_code(read.error());
  print_error(read.error().message());
  return static_cast<int>(ExitCode::kInterruptedByUser);
}

}  // namespace ratoon::cli
