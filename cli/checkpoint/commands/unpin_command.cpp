#include "cli/checkpoint/commands/commands.h"
#include "cli/checkpoint/pins.h"
#include "cli/checkpoint/run_location.h"

namespace ratoon::cli {
namespace {

constexpr const char* kUnpinExamples = R"(Examples:
  ratoon checkpoint unpin checkpoints/counter                  if one is pinned
  ratoon checkpoint unpin checkpoints/counter --step 1200      if several are pinned
  ratoon checkpoint unpin s3://bucket/runs/counter --step 1200

Only the pin is removed. The run's next save, or `gc --keep`, removes the checkpoint if retention does not
keep it. A pin whose checkpoint no longer exists is removed as well.

Exit codes: 0 unpinned, 82 it is not pinned, several are, or the command line is wrong, 84 the disk or the
store fails.)";

struct UnpinArguments {
  CommonArguments common;
  CheckpointSelection selection;
};

int unpin(const UnpinArguments& arguments) {
  const auto place = RunLocation::open(arguments.common.run);
  if (!place) return print_error_and_exit_code(place.error());
  const auto pins = checkpoint::read_pins(place->disk());
  if (!pins) return print_error_and_exit_code(pins.error());
  const auto pin = choose_pin(*pins, arguments.selection);
  if (!pin) return print_error_and_exit_code(pin.error());
  const auto unpinned = checkpoint::unpin(place->disk(), pin->id);
  if (!unpinned) return print_error_and_exit_code(unpinned.error());
  if (!arguments.common.is_json) {
    print_text(checkpoint_text(pin->id) + " is no longer pinned; the reason was: " + pin->why + "\n");
    return 0;
  }
  nlohmann::json document = begin_json_document(arguments.common);
  document["step"] = pin->id.step.value();
  document["attempt"] = pin->id.attempt.value();
  document["pinned_why"] = pin->why;
  print_json(document);
  return 0;
}

}  // namespace

void add_unpin_command(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<UnpinArguments>();
  CLI::App* command = app.add_subcommand("unpin", "Remove the pin of a checkpoint, and only the pin");
  command->footer(kUnpinExamples);
  add_common_arguments(*command, arguments->common);
  command->add_option("--step", arguments->selection.step,
                      "Remove the pin of this step (default: the only pin)");
  command->add_option("--attempt", arguments->selection.attempt,
                      "Remove the pin of this attempt (default: the only pin)");
  command->callback([arguments, &exit_code] { exit_code = unpin(*arguments); });
}

}  // namespace ratoon::cli
