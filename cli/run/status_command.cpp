#include <memory>
#include <string>

#include <nlohmann/json.hpp>
#include <poll.h>

#include "base/contract/exit_code.h"
#include "base/core/split_join.h"
#include "cli/checkpoint/commands/commands.h"
#include "cli/checkpoint/run_folder.h"
#include "cli/cluster/access/cluster_options.h"
#include "cli/cluster/show_jobs.h"
#include "cli/command.h"
#include "cli/run/find_run.h"
#include "cli/run/run_view.h"
#include "cli/run/status_output.h"
#include "operator/local/folder/run_folder.h"

namespace ratoon::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kJsonVersion = 1;
constexpr int kWatchPauseMillis = 500;

constexpr const char* kExamples = R"(Examples:
  ratoon status                     the running one in ratoon-runs/, or the only one there
  ratoon status counter --watch     of the job 'counter', until its run ends
  ratoon status /data/runs/a        of a run in another folder
  ratoon status /data/saves/a       of the run in ratoon-runs/ that saves there, by its --save-folder
  ratoon status counter --json      for programs: status.json, and whether a runner runs
  ratoon status digits --cluster    of the TrainingJob 'digits' in the namespace of the current context
  ratoon status -n prod             of all TrainingJobs of a namespace; -A: of all namespaces

The command shows runs of this machine, unless --cluster or another option of a cluster is given.
`kubectl ratoon status` always shows the cluster.

Exit codes: 0 shown, 82 there is no such run or job or the command line is wrong, 84 the folder cannot be read
or the cluster does not answer.)";

constexpr const char* kPluginExamples = R"(Examples:
  kubectl ratoon status                   all TrainingJobs of the current context's namespace
  kubectl ratoon status digits --watch    of the job 'digits', until it is over
  kubectl ratoon status -A                of all namespaces
  kubectl ratoon status digits --json     for programs: the object, and the facts of `ratoon status`

Exit codes: 0 shown, 82 there is no such job or the command line is wrong, 84 the cluster does not answer.)";

struct StatusArguments {
  std::string name;
  StatusDisplay display;
  ClusterSelection cluster;
};

struct RunState {
  nlohmann::json document;
  RunView view;
};

// Returns where the trainer's --save-folder puts the run's checkpoints, or an empty text if that is inside
// the run's own folder.
std::string find_external_save_location(const fs::path& folder) {
  const std::string saves = save_location_of_run(folder);
  const fs::path way = fs::path(saves).lexically_relative(fs::absolute(folder).lexically_normal());
  return way.empty() || *way.begin() == ".." ? saves : "";
}

Result<RunState> read_run_state(const fs::path& folder) {
  RunState look;
  // Checks first whether `ratoon run` still runs, and then reads the status of the run. In the reverse order,
  // `ratoon status` could miss the final status.
  const bool is_running = local::RunFolder::is_in_use(folder);
  auto document = local::RunFolder::read_document(folder);
  if (!document) return document.error();
  if (!*document) return Error(ErrorKind::kNotFound, folder.string() + " has no status yet");
  auto view = decode_run_view(**document);
  if (!view) {
    return Error(ErrorKind::kInvalid, (folder / "status.json").string() + ": " + view.error().message() +
                                          ": `ratoon run` with this folder explains the next step");
  }
  look.document = **std::move(document);
  look.view = *std::move(view);
  look.view.folder = folder.string();
  look.view.saves = find_external_save_location(folder);
  look.view.is_running = is_running;
  return look;
}

std::string json_text(RunState& look, bool is_one_line) {
  look.document["version"] = kJsonVersion;
  look.document["folder"] = look.view.folder;
  look.document["running"] = look.view.is_running;
  return look.document.dump(is_one_line ? -1 : 2, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string status_text(RunState& look, const StatusDisplay& display, const StatusOutput& page) {
  if (display.is_json) return json_text(look, display.is_watched) + "\n";
  if (page.shows_only_summary()) return summary_line(look.view) + "\n";
  return join(render_run(look.view, SystemClock().wall_now(), page.size().columns, page.rows()), "\n") + "\n";
}

// Adds to the error that only this machine was searched, and how to search a cluster.
Error not_found_error(const Error& error, const std::string& name) {
  if (error.kind() != ErrorKind::kNotFound) return error;
  const std::string said = name.empty() ? "" : " " + name;
  return {error.kind(),
          error.message() + "; no cluster was asked: use `ratoon status" + said + " --cluster` to ask it"};
}

int show_run(const std::string& name, const StatusDisplay& display) {
  const auto folder = find_run(name);
  if (!folder) return print_error_and_exit_code(not_found_error(folder.error(), name));
  StatusOutput page(display);
  for (;;) {
    auto look = read_run_state(*folder);
    if (!look) return print_error_and_exit_code(look.error());
    page.put(status_text(*look, display, page));
    if (!display.is_watched || !look->view.is_running) return static_cast<int>(ExitCode::kDone);
    ::poll(nullptr, 0, kWatchPauseMillis);
  }
}

}  // namespace

void add_status_command(CLI::App& app, int& exit_code, bool is_plugin) {
  auto arguments = std::make_shared<StatusArguments>();
  CLI::App* command = app.add_subcommand(
      "status", is_plugin ? "Show the status of the cluster's TrainingJobs"
                          : "Show the status of a local run or of a cluster's TrainingJobs");
  command->footer(is_plugin ? kPluginExamples : kExamples);
  command->add_option("job", arguments->name,
                      is_plugin ? "A TrainingJob's name (default: all of the namespace)"
                                : "A run's folder, or a job's name in ratoon-runs/ or in the cluster");
  command->add_flag("--watch", arguments->display.is_watched,
                    "Show each change until the run or the job ends");
  command->add_flag("--json", arguments->display.is_json,
                    "Print JSON for programs; with --watch, one line for each change");
  add_cluster_options(*command, arguments->cluster, is_plugin);
  add_all_namespaces_option(*command, arguments->cluster);
  command->callback([arguments, &exit_code] {
    const auto& [name, display, cluster] = *arguments;
    exit_code = selects_cluster(cluster) ? show_jobs(cluster, name, display) : show_run(name, display);
  });
}

}  // namespace ratoon::cli
