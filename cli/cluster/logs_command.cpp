#include <memory>

#include "cli/cluster/access/cluster_options.h"
#include "cli/cluster/show_logs.h"
#include "cli/command.h"

namespace ratoon::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  kubectl ratoon logs digits              the output of all members of the job 'digits'
  kubectl ratoon logs digits -f           until the job is over; successors of lost members are followed, too
  kubectl ratoon logs digits worker-1     of one member
  kubectl ratoon logs digits --tail 20    the last 20 lines of each member

A line begins with the number of its member. Output of pods that no longer exist is lost: see the log of the
cluster.

Exit codes: 0 shown, 82 there is no such job or member or the command line is wrong, 84 the cluster does not
answer.)";

struct LogsArguments {
  LogsRequest request;
  ClusterSelection cluster;
};

}  // namespace

void add_logs_command(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<LogsArguments>();
  CLI::App* command = app.add_subcommand("logs", "Show the output of a job's members");
  command->footer(kExamples);
  LogsRequest& request = arguments->request;
  command->add_option("job", request.job, "A TrainingJob's name")->required();
  command->add_option("member", request.member, "A member of the job, such as worker-1 (default: all)");
  command->add_flag("-f,--follow", request.is_followed, "Show new lines as they come, until the job is over");
  command->add_option("--tail", request.lines_max,
                      "How many lines to show of each member, from the end (default: all)");
  add_cluster_options(*command, arguments->cluster, /*is_plugin=*/true);
  command->callback(
      [arguments, &exit_code] { exit_code = show_logs(arguments->cluster, arguments->request); });
}

}  // namespace ratoon::cli
