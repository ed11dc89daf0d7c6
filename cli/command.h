// A subcommand of `ratoon`: it adds itself to the command line and leaves its exit code in `exit_code`.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <ratoon/result.h>

namespace ratoon::cli {

void add_checkpoint_command(CLI::App& app, int& exit_code);
void add_completion_command(CLI::App& app, int& exit_code);
void add_control_commands(CLI::App& app, int& exit_code);  // kill, reclaim
// `command_words`: the trainer and its arguments, which stand behind `--`.
void add_launch_command(CLI::App& app, int& exit_code, const std::vector<std::string>& command_words);
void add_report_command(CLI::App& app, int& exit_code);
// `more_arguments` for the trainer, which stand behind `--`.
void add_run_command(CLI::App& app, int& exit_code, const std::vector<std::string>& more_arguments);
// As kubectl's plugin it shows the cluster alone.
void add_status_command(CLI::App& app, int& exit_code, bool is_plugin = false);

// "ratoon: <sentence>", with nothing in it that a terminal would obey.
[[nodiscard]] std::string complaint_line(const std::string& sentence);

// Prints that line to stderr.
void complain(const std::string& sentence);

// Prints an error so, and gives the exit code for it: 82, 83 or 84.
[[nodiscard]] int complain_of(const Error& error);

}  // namespace ratoon::cli
