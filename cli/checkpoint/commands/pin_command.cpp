#include "cli/checkpoint/commands/commands.h"
#include "cli/checkpoint/pins.h"
#include "cli/checkpoint/run_location.h"

namespace ratoon::cli {
namespace {

constexpr const char* kPinExamples = R"(Examples:
  ratoon checkpoint pin checkpoints/counter                                   the newest one
  ratoon checkpoint pin checkpoints/counter --step 1200 --why 'best accuracy'
  ratoon checkpoint pin s3://bucket/runs/counter --step 1200                  the copy in a store

Neither --keep-last of the run nor `gc --keep` removes a pinned checkpoint until it is unpinned. A run may be
training at the same time. A pin holds for this place alone: a copy elsewhere needs its own pin. `list` shows
all pins.

Exit codes: 0 pinned, also if it was pinned before (then the first reason is kept), 82 no such checkpoint,
it was removed after it was chosen, or the command line is wrong, 83 it is damaged, 84 the disk or the store
fails.)";

struct PinArguments {
  CommonArguments common;
  CheckpointSelection selection;
  std::string why = kDefaultPinReason;
};

int pin(const PinArguments& arguments) {
  const auto place = RunLocation::open(arguments.common.run);
  if (!place) return print_error_and_exit_code(place.error());
  const auto made = make_pin(place->disk(), arguments.selection, arguments.why);
  if (!made) return print_error_and_exit_code(made.error());
  const checkpoint::Pin& pin = made->pin;
  if (!arguments.common.is_json) {
    print_text(made->is_new
                   ? "pinned " + checkpoint_text(pin.id) + " with " + made->file + ": " + pin.why + "\n"
                   : checkpoint_text(pin.id) + " was pinned before with " + made->file +
                         ", and the first reason is kept: " + pin.why + "\n");
    return 0;
  }
  nlohmann::json document = begin_json_document(arguments.common);
  document["step"] = pin.id.step.value();
  document["attempt"] = pin.id.attempt.value();
  document["is_new"] = made->is_new;
  document["pinned_why"] = pin.why;
  document["file"] = made->file;
  print_json(document);
  return 0;
}

}  // namespace

void add_pin_command(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<PinArguments>();
  CLI::App* command = app.add_subcommand("pin", "Keep one checkpoint: retention and gc do not remove it");
  command->footer(kPinExamples);
  add_common_arguments(*command, arguments->common);
  add_selection_options(*command, arguments->selection);
  command
      ->add_option("--why", arguments->why,
                   "The reason that `list` shows, one line (default: pinned by hand)")
      ->check(CLI::Validator([](const std::string& why) { return check_pin_reason(why); }, ""));
  command->callback([arguments, &exit_code] { exit_code = pin(*arguments); });
}

}  // namespace ratoon::cli
