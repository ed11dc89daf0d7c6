#include "cli/checkpoint/commands/commands.h"
#include "cli/checkpoint/gc.h"
#include "cli/checkpoint/open_packs.h"
#include "cli/checkpoint/run_location.h"
#include "cli/command.h"
#include "cli/text/progress.h"
#include "cli/text/text_format.h"

namespace ratoon::cli {
namespace {

constexpr const char* kGcExamples = R"(Examples:
  ratoon checkpoint gc checkpoints/counter                          list what would be removed, remove nothing
  ratoon checkpoint gc checkpoints/counter --delete                 remove uncommitted packs
  ratoon checkpoint gc checkpoints/counter --quarantine --delete    and checkpoints in quarantine
  ratoon checkpoint gc checkpoints/counter --keep 3 --delete        and all but the newest three

The newest checkpoint is read to its last byte before anything is removed. Packs of newer attempts, and files
of other programs, stay. A run may be writing at the same time. The same holds in a store, as
in s3://bucket/runs/counter.

Exit codes: 0 done, 82 the place or the command line is wrong, 83 the newest checkpoint is bad, and nothing
was removed, 84 the disk or the store cannot be read or written.)";

struct GcArguments {
  CommonArguments common;
  GcRules rules;
  bool deletes = false;
  bool is_dry_run = false;  // also the default, without --delete
};

void print_result(const GcArguments& arguments, const std::vector<GcItem>& items) {
  std::uint64_t size_bytes = 0;
  for (const GcItem& item : items) size_bytes += item.size_bytes;
  if (arguments.common.is_json) {
    nlohmann::json document = begin_json_document(arguments.common);
    document["deleted"] = arguments.deletes;
    document["size_bytes"] = size_bytes;
    document["items"] = nlohmann::json::array();
    for (const GcItem& item : items)
      document["items"].push_back({{"kind", name_of(item.kind)},
                                   {"step", item.id.step.value()},
                                   {"attempt", item.id.attempt.value()},
                                   {"size_bytes", item.size_bytes}});
    return print_json(document);
  }
  std::vector<std::vector<std::string>> rows = {{"STEP", "ATTEMPT", "WHAT", "SIZE"}};
  for (const GcItem& item : items)
    rows.push_back({std::to_string(item.id.step.value()), std::to_string(item.id.attempt.value()),
                    std::string(name_of(item.kind)), size_text(item.size_bytes)});
  std::string text = items.empty() ? "" : table_text(rows);
  text += size_text(size_bytes) + (arguments.deletes ? " removed\n" : " would be removed");
  if (!arguments.deletes) text += items.empty() ? "\n" : "; --delete removes it\n";
  print_text(text);
}

// Searches for garbage (unneeded checkpoints) once and removes it. Returns kConflict if the run has retired a
// checkpoint of the plan.
Result<std::vector<GcItem>> remove_garbage(checkpoint::Disk& disk, const GcRules& rules) {
  const auto survey = take_survey(disk);
  if (!survey) return survey.error();
  const GcPlan plan = plan_gc(*survey, rules);
  const auto newest = choose_checkpoint(*survey, {});
  const SystemClock clock;
  Progress progress("verify the newest", newest ? (*newest)->size_bytes : 0, clock);
  std::vector<GcItem> removed;
  const auto done = run_gc(
      disk, *survey, plan, [&](std::uint64_t bytes) { progress.advance(bytes); },
      [&](const GcItem& item) { removed.push_back(item); });
  if (!done) return done.error();
  return removed;
}

int gc(const GcArguments& arguments) {
  const auto place = RunLocation::open(arguments.common.run);
  if (!place) return print_error_and_exit_code(place.error());
  if (!arguments.deletes) {
    const auto survey = take_survey(place->disk());
    if (!survey) return print_error_and_exit_code(survey.error());
    print_result(arguments, plan_gc(*survey, arguments.rules).items);
    return 0;
  }
  const auto removed = retry_if_retired([&] { return remove_garbage(place->disk(), arguments.rules); });
  if (!removed) return print_error_and_exit_code(removed.error());
  print_result(arguments, *removed);
  return 0;
}

}  // namespace

void add_gc_command(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<GcArguments>();
  CLI::App* command = app.add_subcommand(
      "gc", "Remove uncommitted and retired checkpoints; without --delete, only list them");
  command->footer(kGcExamples);
  add_common_arguments(*command, arguments->common);
  auto* const dry_run =
      command->add_flag("--dry-run", arguments->is_dry_run, "Only list what would be removed (the default)");
  command->add_flag("--delete", arguments->deletes, "Remove the listed files")->excludes(dry_run);
  command
      ->add_option("--keep", arguments->rules.keep_last,
                   "Remove committed checkpoints too, except the newest N")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 32));
  command->add_option("--keep-every", arguments->rules.keep_every,
                      "With --keep: also keep checkpoints whose step is a multiple of K");
  command->add_flag(
      "--quarantine", arguments->rules.empties_quarantine,
      "Also remove damaged checkpoints that are in quarantine and older than the newest good one");
  command->callback([arguments, &exit_code] { exit_code = gc(*arguments); });
}

}  // namespace ratoon::cli
