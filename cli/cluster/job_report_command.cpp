#include <memory>
#include <string>

#include <nlohmann/json.hpp>

#include "base/contract/exit_code.h"
#include "cli/cluster/reader/job_reader.h"
#include "cli/cluster/reader/reader_pod.h"
#include "cli/command.h"
#include "cli/report/facts/cluster_job.h"
#include "cli/report/format_flags.h"
#include "cli/report/write_report.h"

namespace ratoon::cli {
namespace {

constexpr std::size_t kReportBytesMax = std::size_t{256} << 20;

constexpr std::uint32_t kReportSecondsMax = 1800;

constexpr const char* kJobReportExamples = R"(Examples:
  kubectl ratoon report digits                     writes digits-report.html here, for any browser
  kubectl ratoon report digits -o today.html
  kubectl ratoon report digits --json | jq .account
  kubectl ratoon report digits --csv -o loss.csv
  kubectl ratoon report digits --status-only       starts no pod: losses, time and failures, but no curves

The job's status counts losses and time. Curves and checkpoints are in the job's volumes and stores, which
only a pod reaches: the command starts a pod from the job's template, which mounts the same volumes for
reading, and deletes the pod at its end. This needs the right to create, get and delete pods and to get
pods/log. The job may train meanwhile, or be over.

Exit codes: 0 written, 82 there is no such job, the pod cannot start, or the command line is wrong, 84 the
cluster, the volume, the store or the disk does not answer, 130 Ctrl-C.)";

struct JobReportArguments {
  ReaderOptions reader;
  std::string file;
  FormatFlags format;
  bool is_of_status_only = false;
};

ReportOutput report_output(const JobReportArguments& arguments) {
  const ReportFormat format = arguments.format.format();
  if (!arguments.file.empty()) return {.format = format, .file = arguments.file};
  return {.format = format,
          .file = format == ReportFormat::kPage ? arguments.reader.job + "-report.html" : "-"};
}

// Makes the report on this machine, from the job's status alone.
int report_from_status(const api::TrainingJob& job, const ReportOutput& output, const std::string& why) {
  RunFacts facts{.folder = "namespace " + job.meta.name_space};
  facts.complaints.push_back("No file of the run was read: " + why + ".");
  add_cluster_job(job, SystemClock().wall_now(), facts);
  return write_report(output, report_text(std::move(facts), output.format));
}

std::vector<std::string> report_arguments(const api::TrainingJob& job, ReportFormat format) {
  std::vector<std::string> words = {"report", "--output=-", "--job=" + job_for_report(job).dump()};
  if (format == ReportFormat::kCsv) words.emplace_back("--csv");
  if (format == ReportFormat::kJson) words.emplace_back("--json");
  return words;
}

int report_job(const JobReportArguments& arguments) {
  const ReportOutput output = report_output(arguments);
  const auto reader = JobReader::open(arguments.reader);
  if (!reader) return print_and_exit_code(reader.error());
  const api::TrainingJob& job = reader->job();
  if (arguments.is_of_status_only) return report_from_status(job, output, "--status-only was given");
  if (arguments.reader.location.empty() && !is_save_place_known(job))
    return report_from_status(job, output, "no member of the job has reported where it saves");
  std::string text;
  const auto collect = [&](RelayedStream stream, std::string_view piece) -> Result<void> {
    if (stream == RelayedStream::kErrors) return print_errors(piece);
    if (text.size() + piece.size() > kReportBytesMax)
      return Error(ErrorKind::kInvalid, "the report is longer than " + std::to_string(kReportBytesMax >> 20) +
                                            " MiB: make it in the cluster with `ratoon report`");
    text += piece;
    return {};
  };
  const int code = print_and_exit_code(reader->read(
      {.words = report_arguments(job, output.format), .seconds_max = kReportSecondsMax}, collect));
  return code == static_cast<int>(ExitCode::kDone) ? write_report(output, text) : code;
}

}  // namespace

void add_job_report_command(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<JobReportArguments>();
  CLI::App* command =
      app.add_subcommand("report", "Write one page about a job: losses, recoveries, curves, checkpoints");
  command->footer(kJobReportExamples);
  add_reader_options(*command, arguments->reader);
  command->add_option("-o,--output", arguments->file,
                      "The file to write; '-' is standard output (default: JOB-report.html; with --csv or "
                      "--json, standard output)");
  CLI::Option* csv = add_format_flags(*command, arguments->format);
  command
      ->add_flag("--status-only", arguments->is_of_status_only,
                 "Use only the job's status, and start no pod that reads curves and checkpoints")
      ->excludes(csv);
  command->callback([arguments, &exit_code] { exit_code = report_job(*arguments); });
}

}  // namespace ratoon::cli
