#include "cli/run/run_job.h"

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <system_error>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/contract/exit_code.h"
#include "base/contract/names.h"
#include "cli/command.h"
#include "cli/run/find_run.h"
#include "cli/run/live_screen.h"
#include "cli/run/member_lines.h"
#include "cli/run/run_end.h"
#include "operator/local/members/find_program.h"
#include "operator/local/runner.h"

namespace ratoon::cli {
namespace {

namespace fs = std::filesystem;

bool has_been_started(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / "status.json", ignored) || fs::exists(folder / "checkpoints", ignored);
}

// Asks the user at the terminal whether to start over. Returns an error if there is no terminal or if the
// user does not type "y".
Result<void> ask_to_start_over(const fs::path& folder) {
  if (::isatty(STDIN_FILENO) != 1) {
    return Error(ErrorKind::kInvalid, folder.string() +
                                          " holds a run, and there is no terminal to ask whether " +
                                          "to start over: pass --yes with --fresh");
  }
  std::printf("%s holds a run. Start over? The old run is moved to %s/before/. [y/N] ", folder.c_str(),
              folder.c_str());
  std::fflush(stdout);
  std::array<char, 16> answer{};
  if (std::fgets(answer.data(), answer.size(), stdin) != nullptr && (answer[0] == 'y' || answer[0] == 'Y'))
    return {};
  return Error(ErrorKind::kCancelled,
               "nothing was changed; the same command without --fresh continues the run");
}

std::optional<std::string> find_variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

// Unblocks SIGINT and SIGTERM, so that they end the program. Call this function after the run and before its
// last lines are written: a full pipe could block the write of these lines forever.
void restore_default_signals() {
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

}  // namespace

void add_own_folder_to_path() {
  std::error_code ignored;
  const std::string folder = fs::read_symlink("/proc/self/exe", ignored).parent_path().string();
  const char* path = std::getenv("PATH");
  ::setenv("PATH", (std::string(path == nullptr ? local::kDefaultSearchPath : path) + ":" + folder).c_str(),
           1);
}

int run_job(const api::TrainingJob& job, const RunJobOptions& options) {
  const fs::path folder = options.folder.empty() ? fs::path(kRunsFolder) / job.meta.name : options.folder;
  const bool starts_over = options.starts_over && has_been_started(folder);
  if (starts_over && !options.is_confirmed) {
    if (auto agreed = ask_to_start_over(folder); !agreed) {
      print_error(agreed.error().message());
      return static_cast<int>(ExitCode::kConfiguration);
    }
  }
  const SystemClock clock;
  const RunBeginning beginning{.at = clock.now(), .wall_time = clock.wall_now(), .variable = find_variable};
  LiveScreen screen(STDOUT_FILENO, clock);
  std::optional<MemberLines> lines;
  if (options.shows_member_output)
    lines.emplace(folder / "logs",
                  MemberLines::Output{.add = [&](const auto& line) { screen.add_line(line); },
                                      .has_room = [&] { return screen.has_room(); },
                                      .write = [&] { screen.write_without_blocking(); },
                                      .is_terminal = screen.is_terminal()});
  const auto show = [&](const nlohmann::json& document) {
    if (lines) lines->follow(document);
    screen.show(document);
  };
  add_own_folder_to_path();
  const auto code = local::run(
      {.job = job,
       .folder = folder,
       .save_folder = options.save_folder.empty() ? std::filesystem::path(job.spec.checkpoint_policy.home)
                                                  : options.save_folder,
       .devices = options.devices,
       .shares_staging_memory = !find_variable(names::env::kStagingMemoryMib),
       .metrics_port = find_variable(names::env::kMetricsPort),
       .began = beginning.wall_time,
       .end = find_run_end(job, beginning),
       .print = [&](const std::string& line) { screen.print(line); },
       .losses = options.losses,
       .starts_over = starts_over,
       .start_over_hint = options.start_over_hint,
       .shows_checkpoints = screen.is_terminal(),
       .shows_member_output = options.shows_member_output,
       .while_waiting = lines ? std::function([&] { lines->relay(); }) : nullptr,
       .show = show},
      clock);
  restore_default_signals();
  while (lines && lines->has_more()) {
    lines->relay();
    screen.write_all();
  }
  screen.finish();
  return code ? *code : print_error_and_exit_code(code.error());
}

}  // namespace ratoon::cli
