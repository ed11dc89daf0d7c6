#include "cli/checkpoint/commands.h"

#include <cstdio>

#include "cli/checkpoint/run_folder.h"
#include "cli/command.h"

namespace ratoon::cli {

void add_common(CLI::App& command, CommonArguments& arguments) {
  command
      .add_option("run", arguments.run,
                  "A job of `ratoon run` by name or folder, <save folder>/<run name>, or a place in a store: "
                  "s3://bucket/runs/<run name>")
      ->required();
  command.add_flag("--json", arguments.is_json, "For programs: one JSON document on standard output");
}

void add_wish(CLI::App& command, Wish& wish) {
  command.add_option("--step", wish.step, "The checkpoint of this step (default: the newest)");
  command.add_option("--attempt", wish.attempt, "The checkpoint of this attempt (default: the newest)");
}

nlohmann::json begin_json(const CommonArguments& arguments) {
  return {{"version", kJsonVersion}, {"folder", arguments.run}};
}

void print_json(const nlohmann::json& document) {
  // Names and reasons lie on a disk: whatever they are, what is printed is JSON.
  print_text(document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

void print_text(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

void add_checkpoint_command(CLI::App& app, int& exit_code) {
  CLI::App* command =
      app.add_subcommand("checkpoint", "Look at the checkpoints of a run, check, export and pin them");
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
