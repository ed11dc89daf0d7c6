#include <memory>
#include <string>
#include <vector>

#include "base/core/read_file.h"
#include "cli/command.h"
#include "cli/job/job_file.h"
#include "cli/run/run_job.h"
#include "cli/text/duration.h"

namespace ratoon::cli {
namespace {

constexpr const char* kRunExamples = R"(Examples:
  ratoon run job.yaml                      run it here; the same command continues a stopped run
  ratoon run job.yaml -- --steps 500       with more arguments for the trainer
  ratoon run job.yaml --folder /data/runs  keep status, logs and checkpoints elsewhere
  ratoon run job.yaml --fresh              start over; the old run is moved to before/ in the folder
  ratoon run job.yaml --reclaim-every 20s  lose the node of a member every 20 seconds
  ratoon run job.yaml --trace spot.csv --trace-speed 60 --reclaim-notice 2s
                                           lose and get nodes as a cluster did, an hour in a minute

A trace has one line per event: milliseconds since the start, 'add' or 'remove', the node's name. Its nodes
are the run's, and each run starts at the beginning of the trace.

In another terminal: ratoon status, ratoon kill worker-1, ratoon reclaim node-2, ratoon suspend.

Ctrl-C saves and stops, within graceSeconds of the job's checkpointPolicy (default: 30 s); a second Ctrl-C
stops at once. With --time-limit of the trainer all members save and leave together within that time.

A trainer named without a '/' is looked for in PATH, then beside this program.
A relative path counts from the current folder.

Exit codes: 0 completed, 1 failed, 80 the trainer's time limit is over, 82 the file or a command line (also
the trainer's) is wrong, 83 the run has checkpoints and none is good, 84 the folder cannot be used, or the
trainer cannot save, 130 stopped by Ctrl-C.)";

constexpr std::size_t kTraceBytesMax = 64 * 1024 * 1024;

struct RunArguments {
  std::string file;
  std::string folder;
  bool is_fresh = false;
  bool is_confirmed = false;
  std::string reclaim_every;
  std::string reclaim_notice;
  std::uint64_t seed = 0;
  std::string trace;
  double trace_speed = 1;
  std::vector<std::string> trainer_arguments;
};

Result<std::vector<local::TraceEvent>> read_trace(const std::string& path) {
  const auto text = read_file(path, kTraceBytesMax);
  if (!text) return text.error().with_context("--trace");
  auto trace = local::parse_trace(*text);
  if (!trace) return trace.error().with_context(path);
  return trace;
}

Result<local::LossPlan> plan_losses(const RunArguments& arguments) {
  local::LossPlan plan{.seed = arguments.seed, .trace_speed = arguments.trace_speed};
  if (!arguments.reclaim_every.empty()) {
    const auto every = parse_duration(arguments.reclaim_every);
    if (!every) return every.error().with_context("--reclaim-every");
    plan.every = *every;
  }
  if (!arguments.reclaim_notice.empty()) {
    const auto notice = parse_duration(arguments.reclaim_notice);
    if (!notice) return notice.error().with_context("--reclaim-notice");
    plan.notice_seconds = seconds(*notice);
  }
  if (!arguments.trace.empty()) {
    auto trace = read_trace(arguments.trace);
    if (!trace) return trace.error();
    plan.trace = *std::move(trace);
  }
  return plan;
}

int run(const RunArguments& arguments) {
  const auto job = read_job_file(arguments.file, arguments.trainer_arguments);
  if (!job) return print_error_and_exit_code(job.error());
  auto losses = plan_losses(arguments);
  if (!losses) return print_error_and_exit_code(losses.error());
  return run_job(*job, {.folder = arguments.folder,
                        .losses = *std::move(losses),
                        .starts_over = arguments.is_fresh,
                        .is_confirmed = arguments.is_confirmed,
                        .start_over_hint = "--fresh, or another --folder"});
}

void add_loss_options(CLI::App& command, RunArguments& arguments) {
  auto* every = command.add_option("--reclaim-every", arguments.reclaim_every,
                                   "Remove the node of a member at this interval");
  auto* trace =
      command.add_option("--trace", arguments.trace, "Remove and add nodes at the times in this trace file");
  command.add_option("--reclaim-notice", arguments.reclaim_notice,
                     "Time between the preemption notice and the end of a node (default: no notice)");
  command.add_option("--seed", arguments.seed, "Seed of --reclaim-every: chooses the nodes")
      ->capture_default_str()
      ->needs(every);
  command
      .add_option("--trace-speed", arguments.trace_speed,
                  "Speed of the trace: with 60, one hour of the trace takes one minute")
      ->capture_default_str()
      ->check(CLI::Range(0.001, 1e6))
      ->needs(trace);
}

}  // namespace

void add_run_command(CLI::App& app, int& exit_code, const std::vector<std::string>& more_arguments) {
  auto arguments = std::make_shared<RunArguments>();
  arguments->trainer_arguments = more_arguments;
  CLI::App* command = app.add_subcommand("run",
                                         "Run a TrainingJob on this machine, with processes as members; "
                                         "words after -- are passed to the trainer");
  command->footer(kRunExamples);
  command->add_option("file", arguments->file, "TrainingJob in YAML")->required();
  command->add_option("--folder", arguments->folder,
                      "Status, logs and checkpoints (default: ratoon-runs/<job>)");
  auto* fresh = command->add_flag("--fresh", arguments->is_fresh,
                                  "Start over; earlier runs are moved aside, never deleted");
  command->add_flag("--yes", arguments->is_confirmed, "Start the run over without asking for confirmation")
      ->needs(fresh);
  add_loss_options(*command, *arguments);
  command->callback([arguments, &exit_code] { exit_code = run(*arguments); });
}

}  // namespace ratoon::cli
