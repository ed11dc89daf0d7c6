#include <cstdio>
#include <exception>
#include <string>
#include <string_view>

#include <ratoon/version.h>

#include "base/contract/exit_code.h"
#include "base/core/utf8.h"
#include "cli/command.h"
#include "cli/command_line_fault.h"
#include "cli/standard_streams.h"
#include "cli/trainer_arguments.h"
#include "cli/unexpected_error.h"

namespace ratoon::cli {

std::string complaint_line(const std::string& sentence) {
  return "ratoon: " + printable(sentence);
}

void complain(const std::string& sentence) {
  std::fprintf(stderr, "%s\n", complaint_line(sentence).c_str());
}

int complain_of(const Error& error) {
  complain(error.message());
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
  app.footer(
      "This program is also installed as kubectl-ratoon: `kubectl ratoon status` shows the jobs of a "
      "cluster, and `kubectl ratoon --help` names its other commands.");
}

// kubectl starts the program kubectl-ratoon for `kubectl ratoon ...`. As kubectl-ratoon this program offers
// only the commands about a cluster.
bool is_plugin(std::string_view program) {
  return program.substr(program.rfind('/') + 1) == "kubectl-ratoon";
}

}  // namespace
}  // namespace ratoon::cli

int main(int argc, char** argv) {
  ratoon::cli::open_standard_streams();
  const bool is_plugin = argc > 0 && ratoon::cli::is_plugin(argv[0]);
  CLI::App app("Ratoon: training that survives lost machines.", is_plugin ? "kubectl ratoon" : "ratoon");
  app.set_version_flag("--version", std::string("ratoon ") + ratoon::version());
  app.require_subcommand(1);
  int exit_code = 0;
  if (is_plugin) {
    ratoon::cli::add_status_command(app, exit_code, true);
    ratoon::cli::add_suspend_commands(app, exit_code, true);
    ratoon::cli::add_logs_command(app, exit_code);
    app.footer("For runs on this machine, their checkpoints and reports, see `ratoon --help`.");
  } else {
    ratoon::cli::add_commands(app, exit_code, ratoon::cli::take_trainer_arguments(argc, argv));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      app.exit(error);  // prints help, or the version
    } else {
      ratoon::cli::complain(ratoon::cli::explain(app, error));
      exit_code = static_cast<int>(ratoon::ExitCode::kConfiguration);
    }
  } catch (const std::exception& error) {
    const auto unexpected = ratoon::cli::explain_unexpected_error(error);
    ratoon::cli::complain(unexpected.sentence);
    return static_cast<int>(unexpected.exit_code);
  }
  if (const auto written = ratoon::cli::flush_output(); !written && exit_code == 0) {
    ratoon::cli::complain(written.error().message());
    return static_cast<int>(ratoon::ExitCode::kStorage);
  }
  return exit_code;
}
