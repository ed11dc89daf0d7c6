#include "agent/src/checkpoint/format/file_names.h"
#include "base/core/clock.h"
#include "base/core/count_with_noun.h"
#include "base/core/utf8.h"
#include "cli/checkpoint/commands/commands.h"
#include "cli/checkpoint/run_location.h"
#include "cli/text/text_format.h"

namespace ratoon::cli {
namespace {

constexpr const char* kListExamples = R"(Examples:
  ratoon checkpoint list checkpoints/counter           newest first, with uncommitted packs
  ratoon checkpoint list s3://bucket/runs/counter      credentials and endpoint as a run finds them
  ratoon checkpoint list checkpoints/counter --json

Exit codes: 0 listed, 82 the place or the command line is wrong, 84 the disk or the store cannot
be read.)";

constexpr std::size_t kDigestDigitsShown = 12;

// Returns when the checkpoint's manifest was written or, for a damaged checkpoint, when it was moved to
// quarantine. Returns an empty text if the time is unknown, as in an object store.
std::string saved_at(const RunLocation& place, const FoundCheckpoint& found) {
  const auto* const folder =
      found.standing == CheckpointState::kSetAside ? checkpoint::kQuarantine : checkpoint::kManifests;
  const auto written = place.written_at(checkpoint::manifest_path(found.id, folder));
  return written ? format_rfc3339(*written) : "";
}

// Returns why the program ended the run early with this checkpoint, or null if it did not.
const checkpoint::EarlyEnd* early_end_of(const FoundCheckpoint& found) {
  const bool is_end = found.manifest && found.manifest->run && found.manifest->run->early_end;
  return is_end ? &*found.manifest->run->early_end : nullptr;
}

void print_table(const Survey& survey, const RunLocation& place) {
  std::vector<std::vector<std::string>> rows = {
      {"STEP", "ATTEMPT", "STATE", "RANKS", "SIZE", "SAVED", "DIGEST"}};
  for (const FoundCheckpoint& found : survey.checkpoints) {
    rows.push_back({std::to_string(found.id.step.value()), std::to_string(found.id.attempt.value()),
                    std::string(name_of(found.standing)) + (found.is_pinned ? ", pinned" : ""),
                    found.manifest ? std::to_string(found.manifest->packs.size()) : "",
                    size_text(found.size_bytes), saved_at(place, found),
                    found.digest.substr(0, kDigestDigitsShown)});
  }
  std::string text = rows.size() > 1 ? table_text(rows) : "no checkpoint was ever committed here\n";
  for (const FoundCheckpoint& found : survey.checkpoints)
    if (!found.why.empty())
      text += checkpoint_text(found.id) + " is " + std::string(name_of(found.standing)) + ": " +
              printable(found.why) + "\n";
  for (const FoundCheckpoint& found : survey.checkpoints)
    if (found.is_pinned) text += checkpoint_text(found.id) + " is pinned: " + found.pin_reason + "\n";
  for (const std::string& best : checkpoint::describe_kept_best(find_kept_best(survey)))
    text += "best " + printable(best) + "\n";
  for (const FoundCheckpoint& found : survey.checkpoints)
    if (const auto* end = early_end_of(found); end != nullptr)
      text += checkpoint_text(found.id) + " ended the run: " + printable(end->reason) + "\n";
  for (const checkpoint::Pin& pin : survey.orphaned_pins)
    text += checkpoint_text(pin.id) + " is pinned, but the checkpoint does not exist: " + pin.why + "\n";
  for (const UncommittedCheckpoint& one : survey.uncommitted)
    text += checkpoint_text(one.id) + " is not committed: " + count_with_noun(one.packs, "pack") + ", " +
            size_text(one.size_bytes) + "; it is being written, or its writer died\n";
  print_text(text);
}

nlohmann::json to_json(const FoundCheckpoint& found, const RunLocation& place) {
  nlohmann::json object = {{"step", found.id.step.value()},      {"attempt", found.id.attempt.value()},
                           {"state", name_of(found.standing)},   {"size_bytes", found.size_bytes},
                           {"saved_at", saved_at(place, found)}, {"pinned", found.is_pinned}};
  if (found.is_pinned) object["pinned_why"] = found.pin_reason;
  if (found.manifest) {
    object["digest"] = found.digest;
    object["ranks"] = found.manifest->packs.size();
    object["writer"] = found.manifest->writer;
    if (const auto* end = early_end_of(found); end != nullptr) object["finish_reason"] = end->reason;
  } else {
    object["why"] = found.why;
  }
  return object;
}

int list(const CommonArguments& arguments) {
  const auto place = RunLocation::open(arguments.run);
  if (!place) return print_error_and_exit_code(place.error());
  const auto survey = take_survey(place->disk());
  if (!survey) return print_error_and_exit_code(survey.error());
  if (!arguments.is_json) {
    print_table(*survey, *place);
    return 0;
  }
  nlohmann::json document = begin_json_document(arguments);
  document["checkpoints"] = nlohmann::json::array();
  for (const auto& found : survey->checkpoints) document["checkpoints"].push_back(to_json(found, *place));
  document["best"] = nlohmann::json::array();
  for (const auto& one : find_kept_best(*survey))
    document["best"].push_back({{"name", one.name},
                                {"value", one.checkpoint.value},
                                {"step", one.checkpoint.id.step.value()},
                                {"attempt", one.checkpoint.id.attempt.value()}});
  document["uncommitted"] = nlohmann::json::array();
  for (const auto& one : survey->uncommitted)
    document["uncommitted"].push_back({{"step", one.id.step.value()},
                                       {"attempt", one.id.attempt.value()},
                                       {"packs", one.packs},
                                       {"size_bytes", one.size_bytes}});
  document["lone_pins"] = nlohmann::json::array();
  for (const checkpoint::Pin& pin : survey->orphaned_pins)
    document["lone_pins"].push_back(
        {{"step", pin.id.step.value()}, {"attempt", pin.id.attempt.value()}, {"pinned_why", pin.why}});
  print_json(document);
  return 0;
}

}  // namespace

void add_list_command(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<CommonArguments>();
  CLI::App* command = app.add_subcommand("list", "List the checkpoints of a run");
  command->footer(kListExamples);
  add_common_arguments(*command, *arguments);
  command->callback([arguments, &exit_code] { exit_code = list(*arguments); });
}

}  // namespace ratoon::cli
