#include <chrono>
#include <cstdio>
#include <memory>
#include <string>

#include "base/contract/exit_code.h"
#include "base/core/utf8.h"
#include "cli/checkpoint/commands/commands.h"
#include "cli/command.h"
#include "cli/run/find_run.h"
#include "cli/text/duration.h"
#include "operator/local/control/control_socket.h"

namespace ratoon::cli {
namespace {

using local::ControlRequest;

constexpr auto kTimeout = std::chrono::seconds(30);

constexpr const char* kKillExamples = R"(Examples:
  ratoon kill worker-1                        kill -9 of member 1's processes; a replacement joins
  ratoon kill counter-worker-1-i0             the same, of that incarnation alone
  ratoon kill worker-1 --run /data/runs/a     in the run of that folder

`ratoon status` names the members.

Exit codes: 0 killed, 82 there is no such member or run, 84 the run cannot be reached.)";

constexpr const char* kReclaimExamples = R"(Examples:
  ratoon reclaim node-2                  30 seconds of notice: a replacement is made, then the node is gone
  ratoon reclaim node-2 --notice 2m      two minutes of notice
  ratoon reclaim node-2 --silent         the node is gone at once, without notice
  ratoon reclaim node-2 --run counter    in the run of that job or folder

`ratoon status` names the nodes. A new node replaces each one that goes, except in a run with --trace.

Exit codes: 0 done, 82 there is no such node or run, 84 the run cannot be reached.)";

constexpr const char* kSuspendExamples = R"(Examples:
  ratoon suspend             the running one in ratoon-runs/: its members save, then its processes end
  ratoon suspend counter     the run of that job, or in that folder

This does the same as `spec.suspend: true` on a cluster. `ratoon resume` continues from what was saved.

Exit codes: 0 requested, 82 there is no such run or it is suspended already, 84 the run cannot be reached.)";

constexpr const char* kResumeExamples = R"(Examples:
  ratoon resume              the suspended run in ratoon-runs/ continues from what was saved
  ratoon resume counter      the run of that job, or in that folder

A run whose file has `suspend: true` waits for this command, too.

Exit codes: 0 requested, 82 there is no such run or it is not suspended, 84 the run cannot be reached.)";

struct ControlArguments {
  std::string target;
  std::string run;
  std::string notice = "30s";
  bool is_silent = false;
};

int ask(const ControlArguments& arguments, const ControlRequest& request) {
  const auto folder = find_run(arguments.run);
  if (!folder) return complain_of(folder.error());
  const auto reply = local::ask_runner(*folder, request, kTimeout);
  if (!reply) return complain_of(reply.error());
  if (!reply->is_done) return complain_of(Error(ErrorKind::kInvalid, reply->message));
  print_text(printable(reply->message) + "\n");
  return static_cast<int>(ExitCode::kDone);
}

int kill(const ControlArguments& arguments) {
  return ask(arguments, {.kind = ControlRequest::Kind::kKill, .target = arguments.target});
}

int reclaim(const ControlArguments& arguments) {
  ControlRequest request{.kind = ControlRequest::Kind::kReclaim, .target = arguments.target};
  if (!arguments.is_silent) {
    const auto notice = parse_duration(arguments.notice);
    if (!notice) return complain_of(notice.error().with_context("--notice"));
    request.notice_seconds = seconds(*notice);
  }
  return ask(arguments, request);
}

void add_run_option(CLI::App& command, const char* name, ControlArguments& arguments) {
  command.add_option(name, arguments.run,
                     "A run's folder, or a job's name in ratoon-runs/ (default: the running one there)");
}

// Adds a command that concerns a run as a whole.
void add_whole_run_command(CLI::App& command, ControlRequest::Kind kind, int& exit_code) {
  auto arguments = std::make_shared<ControlArguments>();
  add_run_option(command, "run", *arguments);
  command.callback([arguments, kind, &exit_code] { exit_code = ask(*arguments, {.kind = kind}); });
}

}  // namespace

void add_control_commands(CLI::App& app, int& exit_code) {
  auto to_kill = std::make_shared<ControlArguments>();
  CLI::App* kill_command =
      app.add_subcommand("kill", "Kill a member of a local run, to test that the run survives");
  kill_command->footer(kKillExamples);
  kill_command->add_option("member", to_kill->target, "The name in `ratoon status`")->required();
  add_run_option(*kill_command, "--run", *to_kill);
  kill_command->callback([to_kill, &exit_code] { exit_code = kill(*to_kill); });

  auto to_reclaim = std::make_shared<ControlArguments>();
  CLI::App* reclaim_command =
      app.add_subcommand("reclaim", "Remove a node from a local run, as a cloud reclaims a spot machine");
  reclaim_command->footer(kReclaimExamples);
  reclaim_command->add_option("node", to_reclaim->target, "As `ratoon status` names it")->required();
  add_run_option(*reclaim_command, "--run", *to_reclaim);
  auto* notice = reclaim_command->add_option("--notice", to_reclaim->notice,
                                             "Time between the notice and the end of the node");
  notice->capture_default_str();
  reclaim_command->add_flag("--silent", to_reclaim->is_silent, "Remove the node at once, without notice")
      ->excludes(notice);
  reclaim_command->callback([to_reclaim, &exit_code] { exit_code = reclaim(*to_reclaim); });

  CLI::App* suspend_command =
      app.add_subcommand("suspend", "Let a local run save and end its processes, until it is resumed");
  suspend_command->footer(kSuspendExamples);
  add_whole_run_command(*suspend_command, ControlRequest::Kind::kSuspend, exit_code);

  CLI::App* resume_command = app.add_subcommand("resume", "Continue a suspended local run");
  resume_command->footer(kResumeExamples);
  add_whole_run_command(*resume_command, ControlRequest::Kind::kResume, exit_code);
}

}  // namespace ratoon::cli
