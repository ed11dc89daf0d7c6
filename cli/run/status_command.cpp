#include <cstdio>
#include <memory>
#include <string>

#include <nlohmann/json.hpp>
#include <poll.h>
#include <unistd.h>

#include "base/contract/exit_code.h"
#include "cli/checkpoint/commands.h"
#include "cli/command.h"
#include "cli/run/find_run.h"
#include "cli/run/run_view.h"
#include "cli/run/terminal.h"
#include "operator/local/run_folder.h"

namespace ratoon::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kJsonVersion = 1;
constexpr int kPauseMillis = 500;

constexpr const char* kExamples = R"(Examples:
  ratoon status                     the run in ratoon-runs/ that goes on, or the only one there
  ratoon status counter --watch     of the job 'counter', until its run ends
  ratoon status /data/runs/a        of a run in another folder
  ratoon status counter --json      for programs: status.json, and whether a runner is at work

Exit codes: 0 shown, 82 there is no such run or the command line is wrong, 84 the folder cannot be read.)";

struct StatusArguments {
  std::string run;
  bool is_json = false;
  bool is_watched = false;
};

struct Look {
  nlohmann::json document;
  RunView view;
};

Result<Look> look_at(const fs::path& folder) {
  Look look;
  // First: whoever ends in between has written its last word.
  const bool is_running = local::RunFolder::is_in_use(folder);
  auto document = local::RunFolder::read_document(folder);
  if (!document) return document.error();
  if (!*document) return Error(ErrorKind::kNotFound, folder.string() + " has no status yet");
  auto view = decode_run_view(**document);
  if (!view) return view.error().with_context((folder / "status.json").string());
  look.document = **std::move(document);
  look.view = *std::move(view);
  look.view.folder = folder.string();
  look.view.is_running = is_running;
  return look;
}

std::string json_text(Look& look, bool is_one_line) {
  look.document["version"] = kJsonVersion;
  look.document["folder"] = look.view.folder;
  look.document["running"] = look.view.is_running;
  return look.document.dump(is_one_line ? -1 : 2, ' ', false, nlohmann::json::error_handler_t::replace);
}

// One text a look: what is shown once, or over the last one on a terminal, or below it elsewhere.
std::string text_of(Look& look, const StatusArguments& arguments, const TerminalSize& size) {
  if (arguments.is_json) return json_text(look, arguments.is_watched) + "\n";
  if (arguments.is_watched && size.columns == 0) return summary_line(look.view) + "\n";
  std::string text;
  const std::size_t rows = arguments.is_watched && size.rows > 1 ? size.rows - 1 : 0;
  for (const auto& line : render_run(look.view, SystemClock().wall_now(), size.columns, rows))
    text += line + "\n";
  return text;
}

int show(const StatusArguments& arguments) {
  const auto folder = find_run(arguments.run);
  if (!folder) return complain_of(folder.error());
  std::string shown;
  for (;;) {
    auto look = look_at(*folder);
    if (!look) return complain_of(look.error());
    const TerminalSize size = terminal_size(STDOUT_FILENO);
    const std::string text = text_of(*look, arguments, size);
    const bool is_over_the_last = arguments.is_watched && !arguments.is_json && size.columns != 0;
    if (text != shown) {
      if (is_over_the_last) std::fputs(kHomeAndClear, stdout);
      std::fputs(text.c_str(), stdout);
      std::fflush(stdout);
    }
    shown = text;
    if (!arguments.is_watched || !look->view.is_running) return static_cast<int>(ExitCode::kDone);
    ::poll(nullptr, 0, kPauseMillis);
  }
}

}  // namespace

void add_status_command(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<StatusArguments>();
  CLI::App* command = app.add_subcommand("status", "Show how a local run stands");
  command->footer(kExamples);
  command->add_option("run", arguments->run, "A run's folder, or a job's name in ratoon-runs/");
  command->add_flag("--watch", arguments->is_watched, "Go on showing it until the run ends");
  command->add_flag("--json", arguments->is_json, "For programs; with --watch a line for each change");
  command->callback([arguments, &exit_code] { exit_code = show(*arguments); });
}

}  // namespace ratoon::cli
