#include <chrono>
#include <cstdio>
#include <memory>
#include <string>

#include "base/contract/exit_code.h"
#include "base/core/utf8.h"
#include "cli/checkpoint/commands/commands.h"
#include "cli/cluster/access/cluster_options.h"
#include "cli/cluster/suspend_job.h"
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
  ratoon suspend digits -n prod    the TrainingJob of that name in a cluster: sets `spec.suspend: true`

`ratoon resume` continues from the last save.

Exit codes: 0 requested, 82 there is no such run or job, or it is suspended already or over, 84 the run or the
cluster cannot be reached.)";

constexpr const char* kResumeExamples = R"(Examples:
  ratoon resume              the suspended run in ratoon-runs/ continues from the last save
  ratoon resume counter      the run of that job, or in that folder
  ratoon resume digits -n prod    the TrainingJob of that name in a cluster: sets `spec.suspend: false`

A run whose file has `suspend: true` waits for this command, too.

Exit codes: 0 requested, 82 there is no such run or job, or it is not suspended or over, 84 the run or the
cluster cannot be reached.)";

constexpr const char* kPluginSuspendExamples = R"(Examples:
  kubectl ratoon suspend digits            its members save, then their pods end; sets `spec.suspend: true`
  kubectl ratoon suspend digits -n prod    of that namespace

`kubectl ratoon resume` continues from the last save.

Exit codes: 0 requested, 82 there is no such job, or it is suspended already or over, 84 the cluster does not
answer.)";

constexpr const char* kPluginResumeExamples = R"(Examples:
  kubectl ratoon resume digits            its members continue from the last save; sets `spec.suspend: false`
  kubectl ratoon resume digits -n prod    of that namespace

Exit codes: 0 requested, 82 there is no such job, or it is not suspended or over, 84 the cluster does not
answer.)";

struct ControlArguments {
  std::string target;
  std::string run;
  std::string notice = "30s";
  bool is_silent = false;
  ClusterSelection cluster;
};

int ask_runner_and_print(const ControlArguments& arguments, const ControlRequest& request) {
  const auto folder = find_run(arguments.run);
  if (!folder) return print_error_and_exit_code(folder.error());
  const auto reply = local::send_control_request(*folder, request, kTimeout);
  if (!reply) return print_error_and_exit_code(reply.error());
  if (!reply->is_done) return print_error_and_exit_code(Error(ErrorKind::kInvalid, reply->message));
  print_text(printable(reply->message) + "\n");
  return static_cast<int>(ExitCode::kDone);
}

int kill(const ControlArguments& arguments) {
  return ask_runner_and_print(arguments, {.kind = ControlRequest::Kind::kKill, .target = arguments.target});
}

int reclaim(const ControlArguments& arguments) {
  ControlRequest request{.kind = ControlRequest::Kind::kReclaim, .target = arguments.target};
  if (!arguments.is_silent) {
    const auto notice = parse_duration(arguments.notice);
    if (!notice) return print_error_and_exit_code(notice.error().with_context("--notice"));
    request.notice_seconds = seconds(*notice);
  }
  return ask_runner_and_print(arguments, request);
}

void add_run_option(CLI::App& command, const char* name, ControlArguments& arguments) {
  command.add_option(name, arguments.run,
                     "A run's folder, or a job's name in ratoon-runs/ (default: the running one there)");
}

// Adds `suspend` or `resume`, which act on a whole run or TrainingJob, not on one member.
CLI::App& add_whole_run_command(CLI::App& app, bool is_suspend, int& exit_code, bool is_plugin) {
  auto arguments = std::make_shared<ControlArguments>();
  CLI::App* command = app.add_subcommand(
      is_suspend ? "suspend" : "resume",
      std::string(is_suspend ? "Save a run and end its processes, until `resume` continues it"
                             : "Continue a suspended run") +
          (is_plugin ? "" : ", of this machine or of a cluster"));
  if (is_plugin)
    command->add_option("job", arguments->run, "A TrainingJob's name")->required();
  else
    command->add_option(
        "run", arguments->run,
        "A run's folder, or a job's name in ratoon-runs/ or in the cluster (default: the running one "
        "in ratoon-runs/)");
  add_cluster_options(*command, arguments->cluster, is_plugin);
  command->callback([arguments, is_suspend, &exit_code] {
    using Kind = ControlRequest::Kind;
    exit_code = selects_cluster(arguments->cluster)
                    ? suspend_job(arguments->cluster, arguments->run, is_suspend)
                    : ask_runner_and_print(*arguments, {.kind = is_suspend ? Kind::kSuspend : Kind::kResume});
  });
  return *command;
}

}  // namespace

void add_suspend_commands(CLI::App& app, int& exit_code, bool is_plugin) {
  add_whole_run_command(app, /*is_suspend=*/true, exit_code, is_plugin)
      .footer(is_plugin ? kPluginSuspendExamples : kSuspendExamples);
  add_whole_run_command(app, /*is_suspend=*/false, exit_code, is_plugin)
      .footer(is_plugin ? kPluginResumeExamples : kResumeExamples);
}

void add_control_commands(CLI::App& app, int& exit_code) {
  auto to_kill = std::make_shared<ControlArguments>();
  CLI::App* kill_command =
      app.add_subcommand("kill", "Kill a member of a local run, to test that the run survives");
  kill_command->footer(kKillExamples);
  kill_command->add_option("member", to_kill->target, "The member's name in `ratoon status`")->required();
  add_run_option(*kill_command, "--run", *to_kill);
  kill_command->callback([to_kill, &exit_code] { exit_code = kill(*to_kill); });

  auto to_reclaim = std::make_shared<ControlArguments>();
  CLI::App* reclaim_command =
      app.add_subcommand("reclaim", "Remove a node from a local run, as a cloud reclaims a spot machine");
  reclaim_command->footer(kReclaimExamples);
  reclaim_command->add_option("node", to_reclaim->target, "The node's name in `ratoon status`")->required();
  add_run_option(*reclaim_command, "--run", *to_reclaim);
  auto* notice = reclaim_command->add_option("--notice", to_reclaim->notice,
                                             "Time between the preemption notice and the end of the node");
  notice->capture_default_str();
  reclaim_command
      ->add_flag("--silent", to_reclaim->is_silent, "Remove the node at once, without a preemption notice")
      ->excludes(notice);
  reclaim_command->callback([to_reclaim, &exit_code] { exit_code = reclaim(*to_reclaim); });

  add_suspend_commands(app, exit_code, /*is_plugin=*/false);
}

}  // namespace ratoon::cli
