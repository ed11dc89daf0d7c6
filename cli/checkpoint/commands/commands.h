// cli/checkpoint/commands/: the subcommands of `ratoon checkpoint`, one file for each. The code in
// cli/checkpoint/ does the work. docs/reference/checkpoint_commands.md describes the output and the exit
// codes of the commands.
#pragma once

#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/checkpoint/survey.h"
#include "cli/command.h"

namespace ratoon::cli {

void add_list_command(CLI::App& app, int& exit_code);
void add_show_command(CLI::App& app, int& exit_code);
void add_verify_command(CLI::App& app, int& exit_code);
void add_export_command(CLI::App& app, int& exit_code);
void add_gc_command(CLI::App& app, int& exit_code);
void add_pin_command(CLI::App& app, int& exit_code);
void add_unpin_command(CLI::App& app, int& exit_code);

// The version of the --json output. kJsonVersion increases if a field is removed or changes its meaning, not
// if a field is added.
inline constexpr int kJsonVersion = 1;

// The arguments RUN and --json, which all subcommands of `ratoon checkpoint` have.
struct CommonArguments {
  std::string run;  // the run's address, see run_location.h
  bool is_json = false;
};
void add_common_arguments(CLI::App& command, CommonArguments& arguments);

// --step and --attempt.
void add_selection_options(CLI::App& command, CheckpointSelection& selection);

// Returns {"version": 1, "folder": ...}, to which a command adds its results.
[[nodiscard]] nlohmann::json begin_json_document(const CommonArguments& arguments);
void print_json(const nlohmann::json& document);
void print_text(const std::string& text);

}  // namespace ratoon::cli
