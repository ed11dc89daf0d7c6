// A subcommand of `ratoon`: it adds itself to the command line and leaves its exit code in `exit_code`.
#pragma once

#include <CLI/CLI.hpp>

namespace ratoon::cli {

void add_checkpoint_command(CLI::App& app, int& exit_code);
void add_completion_command(CLI::App& app, int& exit_code);
void add_control_commands(CLI::App& app, int& exit_code);  // kill, reclaim
void add_launch_command(CLI::App& app, int& exit_code);
void add_report_command(CLI::App& app, int& exit_code);
void add_run_command(CLI::App& app, int& exit_code);
// As kubectl's plugin it shows the cluster alone.
void add_status_command(CLI::App& app, int& exit_code, bool is_plugin = false);

// Prints "ratoon: <sentence>" to stderr, with nothing in it that a terminal would obey.
void complain(const std::string& sentence);

}  // namespace ratoon::cli
