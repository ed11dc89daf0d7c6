#include <memory>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include <ratoon/atomic_file.h>

#include "cli/checkpoint/commands.h"
#include "cli/command.h"
#include "cli/report/read_run.h"
#include "cli/report/render.h"
#include "cli/run/find_run.h"
#include "cli/text.h"

namespace ratoon::cli {
namespace {

constexpr const char* kReportExamples = R"(Examples:
  ratoon report digits                               writes ratoon-runs/digits/report.html, for any browser
  ratoon report ratoon-runs/digits -o today.html     the same run by its folder
  ratoon report checkpoints/digits                   of a program that ran alone, or under a launcher
  ratoon report digits --json | jq .account
  ratoon report digits --csv -o loss.csv

The page is one file that loads nothing. The run may still be at work; it is only read.

Exit codes: 0 written, 82 there is no run in the folder or the command line is wrong, 84 the disk refuses to
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
  const auto folder = place_of_run(arguments.folder);
  if (!folder) return complain_of(folder.error());
  auto facts = read_run(*folder);
  if (!facts) return complain_of(facts.error());
  if (arguments.is_csv) return write(arguments.file, past_csv(facts->past));
  const Report report = make_report(*std::move(facts));
  if (arguments.is_json) {
    // Names lie on a disk: whatever they are, what is printed is JSON.
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
      app.add_subcommand("report", "One page about a run: losses, recoveries, curves, checkpoints");
  command->footer(kReportExamples);
  command
      ->add_option("folder", arguments->folder,
                   "Of `ratoon run`, its job's name, or <save folder>/<run name>")
      ->required();
  command->add_option("-o,--output", arguments->file,
                      "Where to (default: report.html in the folder; with --csv and --json standard output, "
                      "which is also '-')");
  CLI::Option* csv = command->add_flag("--csv", arguments->is_csv, "What was reported, a row each");
  command->add_flag("--json", arguments->is_json, "The report in numbers, without the curves")->excludes(csv);
  command->callback([arguments, &exit_code] { exit_code = report(*arguments); });
}

}  // namespace ratoon::cli
