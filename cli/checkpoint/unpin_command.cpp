#include "cli/checkpoint/commands.h"
#include "cli/checkpoint/pins.h"
#include "cli/checkpoint/run_place.h"

namespace ratoon::cli {
namespace {

constexpr const char* kUnpinExamples = R"(Examples:
  ratoon checkpoint unpin checkpoints/counter                  where one is pinned
  ratoon checkpoint unpin checkpoints/counter --step 1200      where several are
  ratoon checkpoint unpin s3://bucket/runs/counter --step 1200

Nothing but the pin is removed: what retention does not keep goes with the run's next save, or with
`gc --keep`. A pin whose checkpoint is not there any more is removed as well.

Exit codes: 0 unpinned, 82 it is not pinned, several are, or the command line is wrong, 84 the disk or the
store refuses.)";

struct UnpinArguments {
  CommonArguments common;
  Wish wish;
};

int unpin(const UnpinArguments& arguments) {
  const auto place = RunPlace::open(arguments.common.run);
  if (!place) return complain_of(place.error());
  const auto pins = checkpoint::read_pins(place->disk());
  if (!pins) return complain_of(pins.error());
  const auto pin = choose_pin(*pins, arguments.wish);
  if (!pin) return complain_of(pin.error());
  const auto unpinned = checkpoint::unpin(place->disk(), pin->id);
  if (!unpinned) return complain_of(unpinned.error());
  if (!arguments.common.is_json) {
    print_text(shown(pin->id) + " is not pinned any more; it was: " + pin->why + "\n");
    return 0;
  }
  nlohmann::json document = begin_json(arguments.common);
  document["step"] = pin->id.step.value();
  document["attempt"] = pin->id.attempt.value();
  document["pinned_why"] = pin->why;
  print_json(document);
  return 0;
}

}  // namespace

void add_unpin_command(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<UnpinArguments>();
  CLI::App* command = app.add_subcommand("unpin", "Keep one no more; nothing but its pin is removed");
  command->footer(kUnpinExamples);
  add_common(*command, arguments->common);
  command->add_option("--step", arguments->wish.step, "The pin of this step (default: the only one)");
  command->add_option("--attempt", arguments->wish.attempt,
                      "The pin of this attempt (default: the only one)");
  command->callback([arguments, &exit_code] { exit_code = unpin(*arguments); });
}

}  // namespace ratoon::cli
