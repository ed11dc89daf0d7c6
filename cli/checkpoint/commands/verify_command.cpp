#include "base/contract/exit_code.h"
#include "base/core/utf8.h"
#include "cli/checkpoint/commands/commands.h"
#include "cli/checkpoint/run_location.h"
#include "cli/checkpoint/verify.h"
#include "cli/command.h"
#include "cli/text/progress.h"
#include "cli/text/text_format.h"

namespace ratoon::cli {
namespace {

constexpr const char* kVerifyExamples = R"(Examples:
  ratoon checkpoint verify checkpoints/counter                every byte of every checkpoint
  ratoon checkpoint verify checkpoints/counter --newest       of the checkpoint that a run would resume from
  ratoon checkpoint verify s3://bucket/runs/counter           all that a store has of a run
  ratoon checkpoint verify checkpoints/counter --step 1200 --json

Nothing is changed. A run may be writing at the same time.

Exit codes: 0 all are good, 1 some are bad and one at least is good, 82 there is no such checkpoint or the
command line is wrong, 83 none is good, 84 none is good and the disk or the store
cannot read some.)";

constexpr int kTriesMax = 5;  // while a run retires checkpoints faster than this command reads them

struct VerifyArguments {
  CommonArguments common;
  CheckpointSelection selection;
  bool is_newest_only = false;
};

Result<std::vector<FoundCheckpoint>> select_checkpoints(const VerifyArguments& arguments, Survey survey) {
  const bool is_one = arguments.is_newest_only || arguments.selection.step || arguments.selection.attempt;
  if (!is_one) return std::move(survey.checkpoints);
  std::vector<FoundCheckpoint> chosen;
  for (FoundCheckpoint& found : survey.checkpoints) {
    const bool is_selected =
        (!arguments.selection.step || found.id.step.value() == *arguments.selection.step) &&
        (!arguments.selection.attempt || found.id.attempt.value() == *arguments.selection.attempt);
    if (is_selected) chosen.push_back(std::move(found));
    if (is_selected && arguments.is_newest_only) break;
  }
  if (!chosen.empty()) return chosen;
  return choose_checkpoint(survey, arguments.selection)
      .error();  // the error lists the checkpoints that exist
}

std::string result_line(const VerifyResult& one) {
  const std::string word(name_of(one.verdict));
  if (one.verdict == VerifyOutcome::kGood)
    return checkpoint_text(one.id) + ": " + word + ", " + size_text(one.size_bytes) + "\n";
  return checkpoint_text(one.id) + ": " + word + (one.why.empty() ? "" : ": " + printable(one.why)) + "\n";
}

std::string_view outcome_word(int exit_code) {
  switch (exit_code) {
    case 0:
      return "good";
    case 1:
      return "some bad";
    case static_cast<int>(ExitCode::kCheckpointsBad):
      return "none good";
    case static_cast<int>(ExitCode::kStorage):
      return "unreadable";
    default:
      return "none";
  }
}

void print_document(const VerifyArguments& arguments, std::span<const VerifyResult> verified, int exit_code) {
  nlohmann::json document = begin_json_document(arguments.common);
  document["result"] = outcome_word(exit_code);
  document["checkpoints"] = nlohmann::json::array();
  for (const VerifyResult& one : verified) {
    nlohmann::json object = {{"step", one.id.step.value()},
                             {"attempt", one.id.attempt.value()},
                             {"result", name_of(one.verdict)},
                             {"size_bytes", one.size_bytes}};
    if (one.verdict != VerifyOutcome::kGood) object["why"] = one.why;
    document["checkpoints"].push_back(std::move(object));
  }
  print_json(document);
}

Result<std::vector<VerifyResult>> verify_selected(const checkpoint::Disk& disk,
                                                  const VerifyArguments& arguments) {
  auto survey = take_survey(disk);
  if (!survey) return survey.error();
  const auto chosen = select_checkpoints(arguments, *std::move(survey));
  if (!chosen) return chosen.error();

  std::uint64_t total_bytes = 0;
  for (const FoundCheckpoint& found : *chosen)
    if (found.standing == CheckpointState::kComplete) total_bytes += found.size_bytes;
  const SystemClock clock;
  Progress progress("verify", total_bytes, clock);
  std::vector<VerifyResult> verified;
  for (const FoundCheckpoint& found : *chosen) {
    verified.push_back(verify_checkpoint(disk, found, [&](std::uint64_t bytes) { progress.advance(bytes); }));
    progress.clear();
    if (!arguments.common.is_json) print_text(result_line(verified.back()));
  }
  return verified;
}

int verify(const VerifyArguments& arguments) {
  const auto place = RunLocation::open(arguments.common.run);
  if (!place) return print_error_and_exit_code(place.error());
  auto verified = verify_selected(place->disk(), arguments);
  // If the user named a checkpoint, no other one replaces it.
  const bool is_named = arguments.selection.step || arguments.selection.attempt;
  for (int again = 1; !is_named && again < kTriesMax && verified && are_all_retired(*verified); ++again)
    verified = verify_selected(place->disk(), arguments);
  if (!verified) return print_error_and_exit_code(verified.error());
  const int exit_code = exit_code_of(*verified);
  if (arguments.common.is_json) print_document(arguments, *verified, exit_code);
  if (verified->empty()) print_error("no checkpoint was ever committed in " + arguments.common.run);
  return exit_code;
}

}  // namespace

void add_verify_command(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<VerifyArguments>();
  CLI::App* command =
      app.add_subcommand("verify", "Read every byte of checkpoints and compare it with their checksums");
  command->footer(kVerifyExamples);
  add_common_arguments(*command, arguments->common);
  command->add_flag("--newest", arguments->is_newest_only, "Only the newest checkpoint");
  command->add_option("--step", arguments->selection.step, "Only checkpoints of this step");
  command->add_option("--attempt", arguments->selection.attempt, "Only checkpoints of this attempt");
  command->callback([arguments, &exit_code] { exit_code = verify(*arguments); });
}

}  // namespace ratoon::cli
