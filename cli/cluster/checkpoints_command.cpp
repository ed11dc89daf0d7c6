#include <memory>
#include <optional>
#include <string>

#include <unistd.h>

#include "base/contract/exit_code.h"
#include "base/core/utf8.h"
#include "cli/checkpoint/commands/commands.h"
#include "cli/cluster/reader/job_reader.h"
#include "cli/command.h"
#include "cli/standard_streams.h"

namespace ratoon::cli {
namespace {

constexpr std::uint32_t kListSecondsMax = 1800;
constexpr std::uint32_t kVerifySecondsMax = 24 * 3600;

constexpr const char* kCheckpointsExamples = R"(Examples:
  kubectl ratoon checkpoints digits                  newest first, as `ratoon checkpoint list` prints them
  kubectl ratoon checkpoints digits --json | jq .checkpoints
  kubectl ratoon checkpoints digits --verify         also reads every byte of every checkpoint
  kubectl ratoon checkpoints digits --verify --newest
  kubectl ratoon checkpoints digits --location s3://bucket/runs/digits    a copy in a store

Only a pod reaches the volumes and stores of a job, so the command starts a pod from the job's template,
which mounts the same volumes for reading, and deletes the pod at its end. This needs the right to create,
get and delete pods and to get pods/log. The job may train meanwhile, or be over.

Exit codes: 0 listed, or all are good; 1 some are bad and one at least is good; 82 there is no such job or
checkpoint, the pod cannot start, or the command line is wrong; 83 none is good; 84 the cluster, the volume or
the store does not answer; 130 Ctrl-C.)";

struct CheckpointsArguments {
  ReaderOptions reader;
  bool is_json = false;
  bool is_verified = false;
  bool is_newest_only = false;
  CheckpointSelection selection;
};

std::vector<std::string> checkpoint_arguments(const CheckpointsArguments& arguments) {
  std::vector<std::string> words = {"checkpoint", arguments.is_verified ? "verify" : "list"};
  if (arguments.is_json) words.emplace_back("--json");
  if (arguments.is_newest_only) words.emplace_back("--newest");
  if (const auto step = arguments.selection.step) words.push_back("--step=" + std::to_string(*step));
  if (const auto attempt = arguments.selection.attempt)
    words.push_back("--attempt=" + std::to_string(*attempt));
  return words;
}

int show_checkpoints(const CheckpointsArguments& arguments) {
  const auto print = [](RelayedStream stream, std::string_view text) -> Result<void> {
    if (stream == RelayedStream::kErrors) return print_errors(text);
    // Another program than `ratoon` may have written into the pod's log, for example to control a terminal.
    const bool is_line = text.ends_with('\n');
    print_text(::isatty(STDOUT_FILENO) == 1
                   ? printable(text.substr(0, text.size() - (is_line ? 1 : 0))) + (is_line ? "\n" : "")
                   : std::string(text));
    return flush_output();  // a pod whose output nothing reads is removed
  };
  const ReaderWork work{.words = checkpoint_arguments(arguments),
                        .seconds_max = arguments.is_verified ? kVerifySecondsMax : kListSecondsMax};
  const auto reader = JobReader::open(arguments.reader);
  return print_and_exit_code(reader ? reader->read(work, print) : Result<int>(reader.error()));
}

}  // namespace

void add_checkpoints_command(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<CheckpointsArguments>();
  CLI::App* command = app.add_subcommand("checkpoints", "List or verify the checkpoints of a job");
  command->footer(kCheckpointsExamples);
  add_reader_options(*command, arguments->reader);
  command->add_flag("--json", arguments->is_json, "Print one JSON document on standard output, for programs");
  CLI::Option* verified = command->add_flag("--verify", arguments->is_verified,
                                            "Read every byte and compare it with the checksums");
  command->add_flag("--newest", arguments->is_newest_only, "Verify only the newest checkpoint")
      ->needs(verified);
  command->add_option("--step", arguments->selection.step, "Verify only checkpoints of this step")
      ->needs(verified);
  command->add_option("--attempt", arguments->selection.attempt, "Verify only checkpoints of this attempt")
      ->needs(verified);
  command->callback([arguments, &exit_code] { exit_code = show_checkpoints(*arguments); });
}

}  // namespace ratoon::cli
