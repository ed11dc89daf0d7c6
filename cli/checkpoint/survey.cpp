#include "cli/checkpoint/survey.h"

#include <algorithm>
#include <set>

#include "agent/src/checkpoint/commit/inventory.h"
#include "agent/src/checkpoint/disk/durable.h"
#include "agent/src/checkpoint/parts/part_files.h"
#include "agent/src/checkpoint/retention/retention.h"

namespace ratoon::cli {
namespace {

using checkpoint::CheckpointId;
using checkpoint::Disk;
using checkpoint::DiskEntry;

constexpr std::uint64_t kReasonBytesMax = 4096;
constexpr std::size_t kListedPacksMax = 10;

std::string quarantine_reason(const Disk& disk, const CheckpointId& id) {
  auto text = checkpoint::read_whole_file(disk, checkpoint::quarantine_reason_path(id), kReasonBytesMax);
  if (!text) return "no reason is noted";
  while (text->ends_with('\n')) text->pop_back();
  return *text;
}

// Returns an error text that names the first missing pack. A run that loads the checkpoint prints the same
// text.
std::string find_missing_pack(const Disk& disk, const checkpoint::Manifest& manifest) {
  for (const auto& pack : manifest.packs) {
    const std::string path = checkpoint::pack_path(manifest.id, pack.rank);
    const auto file = disk.open(path);
    if (!file && file.error().kind() == ErrorKind::kNotFound)
      return disk.shown(path) + " does not exist, but a manifest names it";
  }
  return "a pack of the checkpoint was missing when the checkpoint was checked";
}

Result<FoundCheckpoint> read_checkpoint(const Disk& disk, const InventoryEntry& entry) {
  const CheckpointId id = checkpoint::id_of(entry);
  const bool is_without_pack = !entry.is_complete && entry.digest == checkpoint::kMissingPackDigest;
  FoundCheckpoint found{.id = id};
  auto sealed = checkpoint::read_manifest(disk, id);
  if (sealed && is_without_pack) {
    found.standing = CheckpointState::kDamaged;
    found.why = find_missing_pack(disk, sealed->manifest);
    const auto packs = measure_packs(disk, id);
    if (packs) found.size_bytes = packs->size_bytes;
    return found;
  }
  if (sealed) {
    found.digest = std::move(sealed->digest);
    std::set<std::string> counted_parts;
    for (const auto& pack : sealed->manifest.packs)
      found.size_bytes += pack.size_bytes + checkpoint::count_part_bytes(pack, counted_parts);
    found.manifest = std::move(sealed->manifest);
    return found;
  }
  const ErrorKind kind = sealed.error().kind();
  if (kind == ErrorKind::kNotFound && (entry.is_complete || is_without_pack))
    return sealed.error();  // retired since
  if (kind != ErrorKind::kCorrupted && kind != ErrorKind::kIo && kind != ErrorKind::kNotFound)
    return sealed.error();
  found.standing = kind == ErrorKind::kNotFound    ? CheckpointState::kSetAside
                   : kind == ErrorKind::kCorrupted ? CheckpointState::kDamaged
                                                   : CheckpointState::kUnreadable;
  found.why =
      found.standing == CheckpointState::kSetAside ? quarantine_reason(disk, id) : sealed.error().message();
  const auto packs = measure_packs(disk, id);
  if (packs) found.size_bytes = packs->size_bytes;
  return found;
}

Result<std::vector<UncommittedCheckpoint>> find_uncommitted(const Disk& disk,
                                                            const std::set<CheckpointId>& named) {
  std::vector<UncommittedCheckpoint> found;
  const auto attempts = checkpoint::list_if_there(disk, checkpoint::kPacks);
  if (!attempts) return attempts.error();
  for (const DiskEntry& attempt : *attempts) {
    const auto number = checkpoint::parse_attempt_name(attempt.name);
    if (!number || !attempt.is_folder) continue;
    const auto steps = checkpoint::list_if_there(disk, std::string(checkpoint::kPacks) + "/" + attempt.name);
    if (!steps) return steps.error();
    for (const DiskEntry& entry : *steps) {
      const auto step = checkpoint::parse_step_name(entry.name);
      if (!step || !entry.is_folder) continue;
      const CheckpointId id{.attempt = *number, .step = *step};
      if (named.contains(id)) continue;
      auto measured = measure_packs(disk, id);
      if (!measured) return measured.error();
      found.push_back(*measured);
    }
  }
  std::ranges::sort(found, std::greater(), &UncommittedCheckpoint::id);
  return found;
}

void add_pins(std::vector<checkpoint::Pin> pins, Survey& survey) {
  for (checkpoint::Pin& pin : pins) {
    const auto found = std::ranges::find(survey.checkpoints, pin.id, &FoundCheckpoint::id);
    if (found == survey.checkpoints.end()) {
      survey.orphaned_pins.push_back(std::move(pin));
    } else {
      found->is_pinned = true;
      found->pin_reason = std::move(pin.why);
    }
  }
}

std::string known_steps(const Survey& survey) {
  std::string text;
  std::size_t named = 0;
  for (const auto& found : survey.checkpoints) {
    if (found.standing != CheckpointState::kComplete) continue;
    if (++named > kListedPacksMax) return text + ", ...";
    text += (text.empty() ? "" : ", ") + checkpoint_text(found.id);
  }
  return text;
}

}  // namespace

std::string_view name_of(CheckpointState standing) {
  switch (standing) {
    case CheckpointState::kComplete:
      return "complete";
    case CheckpointState::kDamaged:
      return "damaged";
    case CheckpointState::kUnreadable:
      return "unreadable";
    case CheckpointState::kSetAside:
      break;
  }
  return "set aside";
}

std::string checkpoint_text(const CheckpointId& id) {
  return "step " + std::to_string(id.step.value()) + " of attempt " + std::to_string(id.attempt.value());
}

Result<UncommittedCheckpoint> measure_packs(const Disk& disk, const CheckpointId& id) {
  UncommittedCheckpoint found{.id = id};
  const std::string folder = checkpoint::packs_folder(id);
  const auto entries = checkpoint::list_if_there(disk, folder);
  if (!entries) return entries.error();
  for (const DiskEntry& entry : *entries) {
    if (entry.is_folder || !checkpoint::is_name_of_rank_file(entry.name)) continue;
    const auto file = disk.open(folder + "/" + entry.name);
    const auto size = file ? (*file)->size() : Result<std::uint64_t>(0);  // gone or renamed
    found.size_bytes += size.value_or(0);
    if (!entry.name.starts_with('.')) ++found.packs;
  }
  return found;
}

Result<Survey> take_survey(const Disk& disk) {
  // Reads the pins before the checkpoints, because in the reverse order a checkpoint that is committed and
  // pinned in between would look like a pin without a checkpoint.
  auto pins = checkpoint::read_pins(disk);
  if (!pins) return pins.error();
  const auto inventory = checkpoint::take_inventory(disk);
  if (!inventory) return inventory.error();
  Survey survey;
  // Checkpoints that a rollback set aside keep their packs, although no manifest in manifests/ names them.
  auto named = checkpoint::checkpoints_with_manifest_in(disk, {checkpoint::kAsideFolder});
  if (!named) return named.error();
  std::set<CheckpointId> listed = *named;
  for (const auto* list : {&inventory->complete, &inventory->damaged}) {
    for (const InventoryEntry& entry : *list) {
      // The packs of a listed manifest do not count as uncommitted, even if a rollback has moved the manifest
      // away after the listing.
      named->insert(checkpoint::id_of(entry));
      auto found = read_checkpoint(disk, entry);
      if (!found && found.error().kind() == ErrorKind::kNotFound) continue;
      if (!found) return found.error();
      if (listed.insert(found->id).second) survey.checkpoints.push_back(*std::move(found));
    }
  }
  for (const InventoryEntry& entry : inventory->given_up) named->insert(checkpoint::id_of(entry));
  std::ranges::stable_sort(survey.checkpoints, [](const FoundCheckpoint& a, const FoundCheckpoint& b) {
    const bool a_is_aside = a.standing == CheckpointState::kSetAside;
    const bool b_is_aside = b.standing == CheckpointState::kSetAside;
    return a_is_aside != b_is_aside ? b_is_aside : a.id > b.id;
  });
  auto uncommitted = find_uncommitted(disk, *named);
  if (!uncommitted) return uncommitted.error();
  survey.uncommitted = *std::move(uncommitted);
  add_pins(*std::move(pins), survey);
  return survey;
}

std::vector<checkpoint::KeptBest> find_kept_best(const Survey& survey) {
  std::set<CheckpointId> complete;
  const FoundCheckpoint* newest = nullptr;
  for (const FoundCheckpoint& found : survey.checkpoints) {
    if (found.standing != CheckpointState::kComplete || !found.manifest) continue;
    complete.insert(found.id);
    if (newest == nullptr) newest = &found;
  }
  if (newest == nullptr || !newest->manifest->run) return {};
  return checkpoint::find_kept_best(newest->manifest->run->best, complete);
}

Result<const FoundCheckpoint*> choose_checkpoint(const Survey& survey, const CheckpointSelection& selection) {
  const auto is_selected = [&](const FoundCheckpoint& found) {
    return (!selection.step || found.id.step.value() == *selection.step) &&
           (!selection.attempt || found.id.attempt.value() == *selection.attempt);
  };
  const FoundCheckpoint* bad = nullptr;
  for (const FoundCheckpoint& found : survey.checkpoints) {
    if (!is_selected(found)) continue;
    if (found.standing == CheckpointState::kComplete) return &found;
    if (bad == nullptr) bad = &found;
  }
  const std::string known = known_steps(survey);
  const std::string ways = known.empty() ? "" : "; there are: " + known;
  if (bad != nullptr) {
    return Error(bad->standing == CheckpointState::kUnreadable ? ErrorKind::kIo : ErrorKind::kCorrupted,
                 "the checkpoint of " + checkpoint_text(bad->id) + " is " +
                     std::string(name_of(bad->standing)) + ": " + bad->why + ways);
  }
  return Error(ErrorKind::kNotFound, survey.checkpoints.empty() ? "no checkpoint was ever committed here"
                                                                : "no checkpoint matches your choice" + ways);
}

}  // namespace ratoon::cli
