#include <cstdio>
#include <exception>
#include <string>
#include <string_view>

#include <ratoon/version.h>

#include "base/contract/exit_code.h"
#include "base/core/utf8.h"
#include "cli/checkpoint/commands/commands.h"
#include "cli/command.h"
#include "cli/command_line_fault.h"
#include "cli/completion.h"
#include "cli/standard_streams.h"
#include "cli/trainer_arguments.h"
#include "cli/unexpected_error.h"

namespace ratoon::cli {

std::string error_line(const std::string& sentence) {
  return "ratoon: " + printable(sentence);
}

void print_error(const std::string& sentence) {
  std::fprintf(stderr, "%s\n", error_line(sentence).c_str());
}

int print_error_and_exit_code(const Error& error) {
  print_error(error.message());
  return static_cast<int>(exit_code_of(error.kind()));
}

namespace {

void add_commands(CLI::App& app, int& exit_code, const std::vector<std::string>& trainer_words) {
  add_run_command(app, exit_code, trainer_words);
  add_launch_command(app, exit_code, trainer_words);
  add_status_command(app, exit_code);
  add_control_commands(app, exit_code);
  add_checkpoint_command(app, exit_code);
  add_report_command(app, exit_code);
  add_completion_command(app, exit_code);
  add_relay_command(app, exit_code);
  app.footer(
      "This program is also installed as kubectl-ratoon: `kubectl ratoon status` shows the jobs of a "
      "cluster, and `kubectl ratoon --help` names its other commands.");
}

// Adds the commands of `kubectl ratoon`, which all work on a cluster.
void add_plugin_commands(CLI::App& app, int& exit_code) {
  add_status_command(app, exit_code, true);
  add_suspend_commands(app, exit_code, true);
  add_logs_command(app, exit_code);
  add_checkpoints_command(app, exit_code);
  add_job_report_command(app, exit_code);
  app.footer("For runs on this machine, see `ratoon --help`.");
}

// Returns the name by which this program was started. kubectl starts the program kubectl-ratoon for `kubectl
// ratoon ...`, and kubectl_complete-ratoon to complete such a command line.
std::string_view program_name(int argc, const char* const* argv) {
  const std::string_view path = argc > 0 ? argv[0] : "";
  return path.substr(path.rfind('/') + 1);
}

int complete_plugin(int argc, const char* const* argv) {
  CLI::App app("", "kubectl ratoon");
  int ignored = 0;
  add_plugin_commands(app, ignored);
  print_text(plugin_completions(app, {argv + 1, argv + argc}));
  return static_cast<int>(ExitCode::kDone);
}

}  // namespace
}  // namespace ratoon::cli

int main(int argc, char** argv) {
  ratoon::cli::open_standard_streams();
  const std::string_view name = ratoon::cli::program_name(argc, argv);
  if (name == "kubectl_complete-ratoon") return ratoon::cli::complete_plugin(argc, argv);
  const bool is_plugin = name == "kubectl-ratoon";
  CLI::App app("Ratoon: training that survives lost machines.", is_plugin ? "kubectl ratoon" : "ratoon");
  app.set_version_flag("--version", std::string("ratoon ") + ratoon::version());
  app.require_subcommand(1);
  int exit_code = 0;
  if (is_plugin) {
    ratoon::cli::add_plugin_commands(app, exit_code);
  } else {
    ratoon::cli::add_commands(app, exit_code, ratoon::cli::take_trainer_arguments(argc, argv));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      app.exit(error);  // prints help, or the version
    } else {
      ratoon::cli::print_error(ratoon::cli::explain(app, error));
      exit_code = static_cast<int>(ratoon::ExitCode::kConfiguration);
    }
  } catch (const std::exception& error) {
    const auto unexpected = ratoon::cli::explain_unexpected_error(error);
    ratoon::cli::print_error(unexpected.sentence);
    return static_cast<int>(unexpected.exit_code);
  }
  if (const auto written = ratoon::cli::flush_output(); !written && exit_code == 0) {
    ratoon::cli::print_error(written.error().message());
    return static_cast<int>(ratoon::ExitCode::kStorage);
  }
  return exit_code;
}
