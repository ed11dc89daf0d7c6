#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/contract/exit_code.h"
#include "base/contract/names.h"
#include "base/core/child_process.h"
#include "base/process/unwritten_lines.h"
#include "cli/command.h"
#include "cli/launch/job_name.h"
#include "cli/launch/launcher.h"
#include "cli/launch/visible_devices.h"
#include "cli/run/find_run.h"
#include "cli/run/run_job.h"
#include "operator/local/folder/save_location.h"
#include "operator/local/folder/trainer_option.h"

namespace ratoon::cli {
namespace {

using nlohmann::json;

constexpr std::uint32_t kProcessesMax = 1024;
constexpr std::uint32_t kJobGraceSecondsMax = 3600;  // of a job's checkpointPolicy.graceSeconds
// If no program reads the output, the launcher tries to write the last lines for kLastLinesPauseMaxMs.
constexpr int kLastLinesPauseMaxMs = 5000;

constexpr const char* kLaunchExamples = R"(Examples:
  ratoon launch -- trainer --run-name a --save-folder /data   one process, restarted if it is killed
  ratoon launch --nproc 4 -- trainer --steps 500              four that train together on this machine
  command: [ratoon, launch, --nproc, auto, --, trainer]       in a pod: one process a GPU

In a member of a TrainingJob (a pod, or `ratoon run`) the processes join the job's world. Outside of a job,
several processes form a world of their own, and --folder keeps their status and logs, and their checkpoints
unless the trainer has --save-folder. The same command continues such a run. Their lines appear here with the
number of the process in front, as in "[1] step 100". Each process finds LOCAL_RANK. If this program starts
several processes and there are GPUs, it deals the GPUs to them in turn (CUDA_VISIBLE_DEVICES); a single
process sees all GPUs. Outside of a job each process is a member, so its LOCAL_RANK is 0.

A process that is killed, or ends with 81, is restarted. SIGTERM and Ctrl-C go to all processes. After Ctrl-C
they save and leave; a second Ctrl-C stops them at once. With the trainer's --time-limit all processes save
and leave together, within that time from the start of this command.

Exit codes: 0 all completed, 1 a world of their own failed, 80 preempted or the time limit is over, 82 the
command line is wrong or the program cannot be started, 83 a trainer has checkpoints and none is good, 84 the
folder cannot be used, 130 stopped by Ctrl-C, else the code of the first process that failed.)";

struct LaunchArguments {
  std::string processes;
  std::string folder;
  std::uint32_t restarts_max = 10;
  std::uint32_t grace_seconds = 30;
  std::vector<std::string> command;
};

int refuse(const std::string& sentence) {
  print_error(sentence);
  return static_cast<int>(ExitCode::kConfiguration);
}

std::optional<std::string> find_variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

// Returns --nproc, else the job's processesPerNode, else one per GPU. Returns 0 if the number of processes is
// invalid.
std::uint32_t count_processes(const std::string& query, const std::vector<std::string>& devices) {
  const std::string from_job = find_variable(names::env::kProcessesPerNode).value_or("");
  const std::string& text = query.empty() ? from_job : query;
  if (text.empty() || text == "auto")
    return static_cast<std::uint32_t>(std::max<std::size_t>(devices.size(), 1));
  std::uint32_t count = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), count);
  return code == std::errc() && end == text.data() + text.size() && count <= kProcessesMax ? count : 0;
}

int launch_in_member(const LaunchArguments& arguments, std::uint32_t processes,
                     std::vector<std::string> devices) {
  add_own_folder_to_path();
  UnwrittenLines lines(STDERR_FILENO);
  const auto say = [&lines](const std::string& sentence) {
    lines.add(error_line(sentence));
    lines.write_without_blocking();
  };
  const auto code = launch({.command = arguments.command,
                            .processes = processes,
                            .devices = std::move(devices),
                            .time_limit_since = find_variable(names::env::kTimeLimitSince),
                            .restarts_max = arguments.restarts_max,
                            .grace = std::chrono::seconds(arguments.grace_seconds),
                            .say = say,
                            .retry_output = [&lines] { lines.write_without_blocking(); }},
                           SystemClock());
  if (!code) say(code.error().message());
  lines.write_all(kLastLinesPauseMaxMs);
  return code ? *code : static_cast<int>(exit_code_of(code.error().kind()));
}

// Replaces this process by the trainer (exec()), because `ratoon run` starts and restarts the processes.
int exec_trainer(const LaunchArguments& arguments) {
  add_own_folder_to_path();
  std::vector<std::string> words = arguments.command;
  const std::vector<char*> pointers = pointers_to(words);
  ::execvp(pointers.front(), pointers.data());
  const int problem = errno;
  const Error error = system_error(problem, "starting '" + words.front() + "'");
  const bool is_lasting =
      problem == ENOENT || problem == EACCES || problem == ENOEXEC || problem == ENOTDIR || problem == E2BIG;
  return is_lasting ? refuse(error.message()) : print_error_and_exit_code(error);
}

// Returns the default folder for a launch's status and logs. If the launch saves to a folder, the default is
// a folder in ratoon-runs/ in the save folder, beside the checkpoints. Otherwise, for example for an object
// store, the default is a folder in ratoon-runs/ in the current folder.
std::filesystem::path default_folder(const api::TrainingJob& job) {
  auto saves =
      local::find_trainer_option(job, {.flag = "--save-folder", .variable = names::env::kSaveFolder});
  if (!saves) saves = find_variable(names::env::kSaveFolder);
  const bool is_folder = saves && !saves->empty() && saves->find("://") == std::string::npos;
  if (!is_folder) return std::filesystem::path(kRunsFolder) / job.meta.name;
  const std::string run = std::filesystem::path(local::run_name_of(job)).filename();
  const bool is_name = !run.empty() && run != "." && run != "..";
  return std::filesystem::path(*saves) / kRunsFolder / (is_name ? run : job.meta.name);
}

// Runs the processes as a local job of their own. Each process is a separate member of the job, so the other
// processes survive the loss of one. The job is a JSON document that status.json stores, so the same command
// can continue the run.
int launch_local_job(const LaunchArguments& arguments, std::uint32_t processes,
                     std::vector<std::string> devices) {
  if (arguments.grace_seconds == 0 || arguments.grace_seconds > kJobGraceSecondsMax) {
    return refuse("outside of a job --grace must be from 1 to " + std::to_string(kJobGraceSecondsMax) +
                  " if it starts several processes, found " + std::to_string(arguments.grace_seconds));
  }
  const auto name = job_name_of(arguments.command);
  const bool is_run_named = find_variable(names::env::kRunName) && find_variable(names::env::kSaveFolder);
  if (!name && arguments.folder.empty() && !is_run_named) {
    return refuse("the command '" + arguments.command.front() +
                  "' names no file after which the run could be named: name its folder by --folder");
  }
  json words = json::array();
  for (const std::string& word : arguments.command) words.push_back(api::escape_variables(word));
  json trainer = {{"name", "trainer"}, {"command", words}};
  // The local runner sets RATOON_RUN_NAME to the job's name, so pass the user's value on to the job.
  if (const auto run_name = find_variable(names::env::kRunName))
    trainer["env"] = {{{"name", names::env::kRunName}, {"value", api::escape_variables(*run_name)}}};
  const json role = {{"name", "worker"}, {"template", {{"spec", {{"containers", json::array({trainer})}}}}}};
  const auto job =
      api::decode_training_job({{"apiVersion", names::kApiVersion},
                                {"kind", names::kKind},
                                {"metadata", {{"name", name.value_or("trainer")}}},
                                {"spec",
                                 {{"numNodes", processes},
                                  {"restartPolicy", {{"maxRestarts", arguments.restarts_max}}},
                                  {"checkpointPolicy", {{"graceSeconds", arguments.grace_seconds}}},
                                  {"roles", json::array({role})}}}});
  if (!job) return refuse(job.error().message());
  const std::string save_folder = find_variable(names::env::kSaveFolder).value_or("");
  return run_job(*job, {.folder = arguments.folder.empty() ? default_folder(*job)
                                                           : std::filesystem::path(arguments.folder),
                        .save_folder = save_folder,
                        .devices = std::move(devices),
                        .shows_member_output = true});
}

int run_launch(const LaunchArguments& arguments) {
  if (arguments.command.empty())
    return refuse("no program to launch: put it behind --, as in 'ratoon launch --nproc 2 -- trainer'");
  const auto devices = visible_devices(find_variable("CUDA_VISIBLE_DEVICES"));
  const std::uint32_t processes = count_processes(arguments.processes, devices);
  if (processes == 0) {
    return refuse("--nproc must be 'auto' or a number from 1 to " + std::to_string(kProcessesMax) +
                  ", found '" + arguments.processes + "'");
  }
  const auto of_job = find_variable(names::env::kProcessesPerNode);
  if (of_job && *of_job != std::to_string(processes)) {
    return refuse("the job has processesPerNode " + *of_job + ", but --nproc says " +
                  std::to_string(processes) + ": make them equal, or leave --nproc out");
  }
  const bool is_member = find_variable(names::env::kCoordinatorUrl).has_value();
  if (is_member && find_variable(names::env::kLocalRank)) return exec_trainer(arguments);
  if (!is_member && processes > 1) return launch_local_job(arguments, processes, devices);
  return launch_in_member(arguments, processes, devices);
}

}  // namespace

void add_launch_command(CLI::App& app, int& exit_code, const std::vector<std::string>& command_words) {
  auto arguments = std::make_shared<LaunchArguments>();
  arguments->command = command_words;
  CLI::App* command = app.add_subcommand(
      "launch", "Start processes of the trainer named behind --, and restart killed processes");
  command->footer(kLaunchExamples);
  command->add_option(
      "--nproc", arguments->processes,
      "Number of processes, or 'auto': one per GPU (default: processesPerNode of the job, else auto)");
  command->add_option("--folder", arguments->folder,
                      "Where several processes outside a job keep status, logs and checkpoints (default: "
                      "<save folder>/ratoon-runs/<run name>, without --save-folder: ratoon-runs/<program>)");
  command
      ->add_option("--max-restarts", arguments->restarts_max,
                   "How many times in a row a process may be killed within a minute of its start")
      ->capture_default_str();
  command
      ->add_option("--grace", arguments->grace_seconds,
                   "Seconds that processes get to leave after one has failed, or after Ctrl-C outside a job")
      ->capture_default_str()
      ->check(CLI::Range(0, 86'400));
  command->callback([arguments, &exit_code] { exit_code = run_launch(*arguments); });
}

}  // namespace ratoon::cli
