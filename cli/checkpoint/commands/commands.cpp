#include "cli/checkpoint/commands/commands.h"

#include <cstdio>

#include "cli/checkpoint/run_folder.h"
#include "cli/command.h"

namespace ratoon::cli {

void add_common_arguments(CLI::App& command, CommonArguments& arguments) {
  command
      .add_option(
          "run", arguments.run,
          "The run: the name or folder of a job of `ratoon run`, <save folder>/<run name>, or an address in "
          "a store: s3://bucket/runs/<run name>")
      ->required();
  command.add_flag("--json", arguments.is_json, "Print one JSON document on standard output, for programs");
}

void add_selection_options(CLI::App& command, CheckpointSelection& selection) {
  command.add_option("--step", selection.step, "The checkpoint of this step (default: the newest)");
  command.add_option("--attempt", selection.attempt, "The checkpoint of this attempt (default: the newest)");
}

nlohmann::json begin_json_document(const CommonArguments& arguments) {
  return {{"version", kJsonVersion}, {"folder", arguments.run}};
}

void print_json(const nlohmann::json& document) {
  // Names and reasons come from files, so replace bytes that are not UTF-8 to keep the JSON valid.
  print_text(document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

void print_text(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

void add_checkpoint_command(CLI::App& app, int& exit_code) {
  CLI::App* command =
      app.add_subcommand("checkpoint", "List, verify, export, pin and remove the checkpoints of a run");
  command->require_subcommand(1);
  add_list_command(*command, exit_code);
  add_show_command(*command, exit_code);
  add_verify_command(*command, exit_code);
  add_export_command(*command, exit_code);
  add_gc_command(*command, exit_code);
  add_pin_command(*command, exit_code);
  add_unpin_command(*command, exit_code);
}

}  // namespace ratoon::cli
