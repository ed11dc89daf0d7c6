#include <memory>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include <ratoon/atomic_file.h>

#include "cli/checkpoint/commands/commands.h"
#include "cli/command.h"
#include "cli/report/facts/read_run.h"
#include "cli/report/page/render.h"
#include "cli/run/find_run.h"
#include "cli/text/text_format.h"

namespace ratoon::cli {
namespace {

constexpr const char* kReportExamples = R"(Examples:
  ratoon report digits                               writes ratoon-runs/digits/report.html, for any browser
  ratoon report ratoon-runs/digits -o today.html     the same run by its folder
  ratoon report checkpoints/digits                   of a program that ran alone, or under a launcher
  ratoon report digits --json | jq .account
  ratoon report digits --csv -o loss.csv

The page is one file that loads no other. The run may still be running: its files are only read.

Exit codes: 0 written, 82 there is no run in the folder or the command line is wrong, 84 the disk cannot
be read or written.)";

struct ReportArguments {
  std::string folder;
  std::string file;
  bool is_csv = false;
  bool is_json = false;
};

int write(const std::string& file, const std::string& text) {
  if (file.empty() || file == "-") {
    print_text(text);
    return 0;
  }
  if (const auto is_there = check_folder_of(file); !is_there) return complain_of(is_there.error());
  const auto written = save_file_atomically(file, text);
  return written ? 0 : complain_of(written.error());
}

int report(const ReportArguments& arguments) {
  const auto folder = path_of_run(arguments.folder);
  if (!folder) return complain_of(folder.error());
  auto facts = read_run(*folder);
  if (!facts) return complain_of(facts.error());
  if (arguments.is_csv) return write(arguments.file, history_csv(facts->history));
  const Report report = make_report(*std::move(facts));
  if (arguments.is_json) {
    // Names come from files and may not be UTF-8: replace such bytes to keep the JSON valid.
    return write(arguments.file,
                 report_json(report).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  }
  const std::string file = arguments.file.empty() ? (*folder / "report.html").string() : arguments.file;
  const int code = write(file, render_page(report));
  if (code == 0 && file != "-") print_text(file + "\n");
  return code;
}

}  // namespace

void add_report_command(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<ReportArguments>();
  CLI::App* command =
      app.add_subcommand("report", "Write one page about a run: losses, recoveries, curves, checkpoints");
  command->footer(kReportExamples);
  command
      ->add_option("folder", arguments->folder,
                   "The folder or job name of a `ratoon run`, or <save folder>/<run name>")
      ->required();
  command->add_option(
      "-o,--output", arguments->file,
      "The file to write; '-' is standard output (default: report.html in the folder; with --csv or "
      "--json, standard output)");
  CLI::Option* csv =
      command->add_flag("--csv", arguments->is_csv, "Write the reported values instead, one per row");
  command
      ->add_flag("--json", arguments->is_json, "Write the numbers of the report instead, without the curves")
      ->excludes(csv);
  command->callback([arguments, &exit_code] { exit_code = report(*arguments); });
}

}  // namespace ratoon::cli
