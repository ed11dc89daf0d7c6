#include <cstdio>
#include <exception>

#include <ratoon/version.h>

#include "base/contract/exit_code.h"
#include "cli/command.h"

namespace ratoon::cli {

void complain(const std::string& sentence) {
  std::fprintf(stderr, "ratoon: %s\n", sentence.c_str());
}

}  // namespace ratoon::cli

int main(int argc, char** argv) {
  CLI::App app{"Ratoon: training that survives machines that vanish."};
  app.set_version_flag("--version", std::string("ratoon ") + ratoon::version());
  app.require_subcommand(1);
  int exit_code = 0;
  ratoon::cli::add_run_command(app, exit_code);
  ratoon::cli::add_launch_command(app, exit_code);
  ratoon::cli::add_status_command(app, exit_code);
  ratoon::cli::add_control_commands(app, exit_code);
  ratoon::cli::add_checkpoint_command(app, exit_code);
  ratoon::cli::add_report_command(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? 0 : static_cast<int>(ratoon::ExitCode::kConfiguration);
  } catch (const std::exception& error) {
    ratoon::cli::complain(error.what());
    return 1;
  }
  return exit_code;
}
