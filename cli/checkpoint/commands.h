// The subcommands of `ratoon checkpoint`, each in a file of its own. docs/reference/checkpoint_commands.md
// says what they print and with which code they end.
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

// The version of what --json prints: it grows where a field changes its meaning or goes, not where one comes.
inline constexpr int kJsonVersion = 1;

// RUN and --json, which all have.
struct CommonArguments {
  std::string run;  // where its checkpoints are: run_place.h
  bool is_json = false;
};
void add_common(CLI::App& command, CommonArguments& arguments);

// --step and --attempt.
void add_wish(CLI::App& command, Wish& wish);

// {"version": 1, "folder": ...}, to which a command adds what it found.
[[nodiscard]] nlohmann::json begin_json(const CommonArguments& arguments);
void print_json(const nlohmann::json& document);
void print_text(const std::string& text);

}  // namespace ratoon::cli
