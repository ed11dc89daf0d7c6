// Each function adds a subcommand of `ratoon` to the command line; the command sets `exit_code`.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <ratoon/result.h>

namespace ratoon::cli {

void add_checkpoint_command(CLI::App& app, int& exit_code);
void add_completion_command(CLI::App& app, int& exit_code);
void add_control_commands(CLI::App& app, int& exit_code);  // kill, reclaim, suspend, resume
// `command_words` are the trainer and its arguments, which come after `--`.
void add_launch_command(CLI::App& app, int& exit_code, const std::vector<std::string>& command_words);
void add_report_command(CLI::App& app, int& exit_code);
// add_logs_command(), add_checkpoints_command() and add_job_report_command() add commands that only `kubectl
// ratoon` has.
void add_logs_command(CLI::App& app, int& exit_code);
void add_checkpoints_command(CLI::App& app, int& exit_code);
void add_job_report_command(CLI::App& app, int& exit_code);
void add_relay_command(CLI::App& app, int& exit_code);  // for pods that `kubectl ratoon` starts
// `more_arguments` are the words after `--`, which the trainer gets as further arguments.
void add_run_command(CLI::App& app, int& exit_code, const std::vector<std::string>& more_arguments);
// With `is_plugin` (`kubectl ratoon`), the command shows only jobs of clusters, and no runs of this machine.
void add_status_command(CLI::App& app, int& exit_code, bool is_plugin = false);
void add_suspend_commands(CLI::App& app, int& exit_code, bool is_plugin);

// Returns "ratoon: <sentence>", with control characters replaced, because a terminal would obey them.
[[nodiscard]] std::string error_line(const std::string& sentence);

// Prints error_line(sentence) to stderr.
void print_error(const std::string& sentence);

// Prints the error with print_error(), and returns its exit code: 82, 83 or 84.
[[nodiscard]] int print_error_and_exit_code(const Error& error);

}  // namespace ratoon::cli
