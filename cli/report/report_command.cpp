#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include <ratoon/atomic_file.h>

#include "agent/src/objects/store_uri.h"
#include "base/contract/exit_code.h"
#include "base/core/threads/pause.h"
#include "cli/checkpoint/commands/commands.h"
#include "cli/command.h"
#include "cli/report/facts/cluster_job.h"
#include "cli/report/facts/read_run.h"
#include "cli/report/format_flags.h"
#include "cli/report/tensorboard.h"
#include "cli/report/write_report.h"
#include "cli/run/find_run.h"
#include "cli/text/text_format.h"
#include "operator/local/folder/run_folder.h"

namespace ratoon::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kReportExamples = R"(Examples:
  ratoon report digits                               writes ratoon-runs/digits/report.html, for any browser
  ratoon report ratoon-runs/digits -o today.html     the same run by its folder
  ratoon report checkpoints/digits                   of a program that ran alone, or under a launcher
  ratoon report s3://bucket/runs/digits -o digits.html
  ratoon report digits --json | jq .account
  ratoon report digits --csv -o loss.csv
  ratoon report /mnt/runs/digits --job job.json      of a cluster's job; see also `kubectl ratoon report`
  ratoon report digits --tensorboard logs/digits     event files for `tensorboard --logdir logs`
  ratoon report digits --tensorboard logs/digits --watch   and the next values, until the run ends

The page is one file that loads no other. The run may still be running: its files are only read.

Exit codes: 0 written, 82 there is no run in the folder or the command line is wrong, 84 the disk or the store
cannot be read or written.)";

struct ReportArguments {
  std::string place;
  std::string file;
  std::string job;
  FormatFlags format;
  std::string tensorboard;  // a folder for event files
  bool is_watched = false;
};

constexpr Duration kWatchPause = std::chrono::seconds(1);

bool is_in_store(const std::string& place) {
  const auto uri = objects::parse_store_uri(place);
  return uri && uri->scheme != objects::StoreScheme::kFile;
}

Result<RunFacts> read_run_from_place(const std::string& place) {
  if (is_in_store(place)) return read_run_in_store(place);
  const auto folder = folder_of_run(place);
  if (!folder) return folder.error();
  return read_run(*folder);
}

// With --job, the place of the run may be empty, because a job that failed early has saved nothing.
Result<RunFacts> read_run_facts(const ReportArguments& arguments) {
  auto facts = read_run_from_place(arguments.place);
  if (arguments.job.empty()) return facts;
  const auto job = read_cluster_job(arguments.job);
  if (!job) return job.error();
  const bool is_nothing_saved =
      !facts && (facts.error().kind() == ErrorKind::kNotFound || facts.error().kind() == ErrorKind::kInvalid);
  if (is_nothing_saved)
    facts = RunFacts{.folder = arguments.place,
                     .complaints = {"The run has saved nothing yet: " + facts.error().message() + "."}};
  if (facts) add_cluster_job(*job, SystemClock().wall_now(), *facts);
  return facts;
}

// Returns the file to write: report.html beside the run's own files, unless the user names another file.
Result<ReportOutput> choose_output(const ReportArguments& arguments) {
  const ReportFormat format = arguments.format.format();
  if (!arguments.file.empty()) return ReportOutput{.format = format, .file = arguments.file};
  if (format != ReportFormat::kPage) return ReportOutput{.format = format, .file = "-"};
  if (is_in_store(arguments.place))
    return Error(ErrorKind::kInvalid, "the page cannot be written into a store: name a file with --output");
  const auto folder = folder_of_run(arguments.place);
  if (!folder) return folder.error();
  return ReportOutput{.format = format, .file = (*folder / "report.html").string()};
}

// Returns the path of the run's TensorBoard event file in `folder`. Each call for the same run returns the
// same path.
fs::path event_file(const fs::path& folder, const AttemptHistory& history) {
  const HistoryRow* first = nullptr;  // not the earliest row: the system clock may go back
  const auto place = [](const HistoryRow& row) { return std::tuple(row.attempt, row.step, row.at); };
  for (const auto& [name, rows] : history.values)
    if (!rows.empty() && (first == nullptr || place(rows.front()) < place(*first))) first = &rows.front();
  const double at = first == nullptr ? 0 : first->at;
  return folder / ("events.out.tfevents." + std::to_string(static_cast<std::uint64_t>(at)) + ".ratoon");
}

// Writes the values for TensorBoard. If `is_watched`, also writes new values until the run has ended.
int write_tensorboard(const fs::path& run, RunFacts facts, const fs::path& folder, bool is_watched) {
  std::error_code code;
  fs::create_directories(folder, code);
  if (code)
    return print_error_and_exit_code(system_error(code.value(), "creating folder " + folder.string()));
  TensorboardEvents events;
  fs::path file;
  bool has_ended = !is_watched;
  while (true) {
    const std::string records = events.take(facts.history);
    if (file.empty() && !records.empty()) {
      file = event_file(folder, facts.history);
      if (const auto written = save_file_atomically(file, records); !written)
        return print_error_and_exit_code(written.error());
      print_text(file.string() + "\n");
    } else if (!records.empty()) {
      std::ofstream output(file, std::ios::binary | std::ios::app);
      if (!output.write(records.data(), static_cast<std::streamsize>(records.size())).flush())
        return print_error_and_exit_code(
            Error(ErrorKind::kIo, "writing " + file.string() + " failed: check the disk"));
    }
    if (has_ended) break;
    static_cast<void>(pause_for(kWatchPause, {}));
    has_ended = !local::RunFolder::is_in_use(run);  // before read_run(), which then has the run's last values
    auto next = read_run(run);
    if (!next) return print_error_and_exit_code(next.error());
    facts = *std::move(next);
  }
  if (!file.empty()) return static_cast<int>(ExitCode::kDone);
  return print_error_and_exit_code(Error(
      ErrorKind::kInvalid, run.string() + " has no reported values: call session.report() in the trainer"));
}

// Writes the values of a run in a folder for TensorBoard. Returns an error for a run in an object store,
// because such a run has no history.
int write_tensorboard(const ReportArguments& arguments) {
  if (is_in_store(arguments.place))
    return print_error_and_exit_code(
        Error(ErrorKind::kInvalid,
              "a run in a store has no history, which --tensorboard needs: name the "
              "folder of the run"));
  const auto folder = folder_of_run(arguments.place);
  if (!folder) return print_error_and_exit_code(folder.error());
  auto facts = read_run(*folder);
  if (!facts) return print_error_and_exit_code(facts.error());
  return write_tensorboard(*folder, *std::move(facts), arguments.tensorboard, arguments.is_watched);
}

int report(const ReportArguments& arguments) {
  if (!arguments.tensorboard.empty()) return write_tensorboard(arguments);
  const auto output = choose_output(arguments);
  if (!output) return print_error_and_exit_code(output.error());
  auto facts = read_run_facts(arguments);
  if (!facts) return print_error_and_exit_code(facts.error());
  return write_report(*output, report_text(*std::move(facts), output->format));
}

}  // namespace

void add_report_command(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<ReportArguments>();
  CLI::App* command =
      app.add_subcommand("report", "Write one page about a run: losses, recoveries, curves, checkpoints");
  command->footer(kReportExamples);
  command
      ->add_option("folder", arguments->place,
                   "The folder or job name of a `ratoon run`, <save folder>/<run name>, or an address in a "
                   "store: s3://bucket/runs/<run name>")
      ->required();
  command->add_option(
      "-o,--output", arguments->file,
      "The file to write; '-' is standard output (default: report.html in the folder; with --csv or "
      "--json, standard output)");
  command->add_option("--job", arguments->job,
                      "The TrainingJob that made the run on a cluster, as `kubectl get trainingjob NAME -o "
                      "json` prints it: a file, or the text itself (default: none)");
  CLI::Option* csv = add_format_flags(*command, arguments->format);
  CLI::Option* tensorboard = command->add_option(
      "--tensorboard", arguments->tensorboard,
      "Write the reported values into this folder instead, as event files of TensorBoard");
  tensorboard->excludes(csv)->excludes("--json")->excludes("--output");
  command
      ->add_flag("--watch", arguments->is_watched, "Keep writing new values until the `ratoon run` has ended")
      ->needs(tensorboard);
  command->callback([arguments, &exit_code] { exit_code = report(*arguments); });
}

}  // namespace ratoon::cli
