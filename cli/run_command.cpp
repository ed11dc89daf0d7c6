#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/contract/exit_code.h"
#include "cli/command.h"
#include "cli/job_file.h"
#include "operator/local/runner.h"

namespace ratoon::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  ratoon run job.yaml                      run it here; the same command again goes on where it stood
  ratoon run job.yaml -- --steps 500       with more arguments for the trainer
  ratoon run job.yaml --folder /data/runs  keep status, logs and checkpoints elsewhere

A trainer named without a '/' is looked for in PATH, then beside this program.
A relative path counts from the folder you are in.

Exit codes: 0 completed, 1 failed, 82 the file or the command line is wrong, 84 the folder cannot be used,
130 stopped by Ctrl-C.)";

struct RunArguments {
  std::string file;
  std::string folder;
  std::vector<std::string> trainer_arguments;
};

int exit_code_of(const Error& error) {
  const bool is_storage = error.kind() == ErrorKind::kNoSpace || error.kind() == ErrorKind::kIo ||
                          error.kind() == ErrorKind::kPermissionDenied;
  return static_cast<int>(is_storage ? ExitCode::kStorage : ExitCode::kConfiguration);
}

int run(const RunArguments& arguments) {
  auto job = read_job_file(arguments.file, arguments.trainer_arguments);
  if (!job) {
    complain(job.error().message());
    return static_cast<int>(ExitCode::kConfiguration);
  }
  const std::filesystem::path folder = arguments.folder.empty()
                                           ? std::filesystem::path("ratoon-runs") / job->meta.name
                                           : std::filesystem::path(arguments.folder);
  const auto print = [](const std::string& line) {
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
  };
  print("running " + job->meta.name + " in " + folder.string() +
        "; Ctrl-C stops it, the same command goes on");
  std::error_code ignored;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  const auto code = local::run(
      {.job = *job, .folder = folder, .program_folder = program.parent_path().string(), .print = print},
      SystemClock());
  if (code) return *code;
  complain(code.error().message());
  return exit_code_of(code.error());
}

}  // namespace

void add_run_command(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App* command =
      app.add_subcommand("run", "Run a TrainingJob on this machine, with processes as members");
  command->footer(kExamples);
  command->add_option("file", arguments->file, "TrainingJob in YAML")->required();
  command->add_option("--folder", arguments->folder,
                      "Status, logs and checkpoints (default: ratoon-runs/<job>)");
  command->add_option("trainer-arguments", arguments->trainer_arguments, "After --: handed to the trainer");
  command->callback([arguments, &exit_code] { exit_code = run(*arguments); });
}

}  // namespace ratoon::cli
