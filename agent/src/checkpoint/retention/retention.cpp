#include "agent/src/checkpoint/retention/retention.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <set>
#include <vector>

#include "agent/src/checkpoint/commit/inventory.h"
#include "agent/src/checkpoint/commit/lost_manifests.h"
#include "agent/src/checkpoint/disk/durable.h"
#include "agent/src/checkpoint/format/manifest.h"
#include "agent/src/checkpoint/parts/part_files.h"
#include "agent/src/checkpoint/retention/pins.h"
#include "agent/src/checkpoint/retention/removal.h"

namespace ratoon::checkpoint {
namespace {

// Removes files of one attempt from the folder `kind` ("packs" or "receipts"): the files of all checkpoints
// that are older than `before` and not in `kept`.
Result<void> sweep_attempt(Disk& disk, const std::string& kind, const DiskEntry& attempt,
                           const std::set<CheckpointId>& kept, const CheckpointId& before) {
  const std::string folder = kind + "/" + attempt.name;
  const Attempt of = *parse_attempt_name(attempt.name);
  const auto steps = list_if_there(disk, folder);
  if (!steps) return steps.error();
  for (const DiskEntry& entry : *steps) {
    const auto step = parse_step_name(entry.name);
    if (!step || !entry.is_folder) continue;
    const CheckpointId id{.attempt = of, .step = *step};
    if (id >= before || kept.contains(id)) continue;
    const std::string of_step = folder + "/" + entry.name;
    const auto ours = find_rank_files(disk, of_step);
    if (!ours) return ours.error();
    if (auto removed = remove_rank_files(disk, of_step, *ours); !removed) return removed;
  }
  // remove_folder() fails while the folder contains kept files. The folder of the current attempt stays,
  // because its writers still use it.
  if (of < before.attempt) static_cast<void>(disk.remove_folder(folder));
  return {};
}

// Removes temporary manifests of older attempts, so that a process of an older attempt can no longer commit.
Result<void> sweep_temporary_files(Disk& disk, const std::string& folder, Attempt own) {
  const auto entries = list_if_there(disk, folder);
  if (!entries) return entries.error();
  for (const DiskEntry& entry : *entries) {
    const auto id = parse_temporary_manifest_name(entry.name);
    const auto attempt = id ? std::optional(id->attempt) : parse_temporary_rollback_name(entry.name);
    if (!attempt || *attempt >= own || entry.is_folder) continue;
    const auto removed = disk.remove(folder + "/" + entry.name);
    if (!removed && !failed_with(removed, ErrorKind::kNotFound)) return removed;
  }
  return {};
}

bool is_without_packs(const Disk& disk, const CheckpointId& id) {
  const auto sealed = read_manifest(disk, id);
  return sealed && lacks_a_pack(disk, sealed->manifest);
}

bool has_any_pack(const Disk& disk, const CheckpointId& id) {
  const auto packs = find_rank_files(disk, packs_folder(id));
  return !packs || !packs->empty();
}

}  // namespace

Result<std::set<CheckpointId>> checkpoints_with_manifest_in(const Disk& disk,
                                                            std::initializer_list<const char*> folders) {
  std::set<CheckpointId> ids;
  for (const char* folder : folders) {
    const auto entries = list_if_there(disk, folder);
    if (!entries) return entries.error();
    for (const DiskEntry& entry : *entries) {
      if (const auto id = parse_manifest_name(entry.name)) ids.insert(*id);
    }
  }
  return ids;
}

Result<std::set<CheckpointId>> quarantined_or_aside_checkpoints(const Disk& disk) {
  return checkpoints_with_manifest_in(disk, {kQuarantine, kAsideFolder});
}

std::vector<CheckpointId> choose_retired(std::span<const KeptCheckpoint> newest_first, const KeepRules& rules,
                                         Attempt own) {
  const bool is_only_in_store = rules.last == 0;
  const std::uint64_t last = std::max<std::uint64_t>(rules.last, 1);
  std::vector<bool> goes(newest_first.size());
  std::uint64_t kept_bytes = 0;
  for (std::size_t i = 0; i < newest_first.size(); ++i) {
    const KeptCheckpoint& one = newest_first[i];
    const bool is_milestone = rules.every_steps != 0 && one.id.step.value() % rules.every_steps == 0;
    const bool is_among_last = i < last && !(is_only_in_store && one.is_in_store);
    goes[i] = !is_among_last && !is_milestone && !one.is_pinned && one.id.attempt <= own;
    if (!goes[i]) kept_bytes += one.size_bytes;
  }
  for (std::size_t i = newest_first.size(); i-- > 1 && kept_bytes > rules.bytes_max;) {
    const KeptCheckpoint& one = newest_first[i];
    if (goes[i] || one.is_pinned || one.id.attempt > own) continue;
    goes[i] = true;
    kept_bytes -= one.size_bytes;
  }
  std::vector<CheckpointId> retired;
  for (std::size_t i = 0; i < newest_first.size(); ++i) {
    if (goes[i]) retired.push_back(newest_first[i].id);
  }
  return retired;
}

Result<void> quarantine_checkpoint(Disk& disk, const CheckpointId& id, std::string_view reason,
                                   std::string_view mark) {
  if (auto made = make_folders(disk, kQuarantine, Durability::kSurvivesPowerCuts); !made) return made;
  // The move of the manifest must survive a power cut: if all manifests were lost, the next start would begin
  // at step 0.
  const auto moved =
      move_durably(disk, manifest_path(id), manifest_path(id, kQuarantine), kManifestBytesMax, mark);
  if (failed_with(moved, ErrorKind::kNotFound)) return {};  // retired, or set aside before
  if (!moved) return moved;
  // Only users read the reason file, so it is no error if the file cannot be written or if another rank has
  // written it.
  static_cast<void>(save_without_sync(disk, quarantine_reason_path(id), std::string(reason) + '\n', mark));
  return {};
}

Result<void> remove_unvoted_files(Disk& disk, const CheckpointId& id) {
  // Remove receipts before packs: a pack without its receipt is never committed.
  for (const std::string& folder : {receipts_folder(id), packs_folder(id)}) {
    const auto ours = find_rank_files(disk, folder);
    if (!ours) return ours.error();
    if (auto removed = remove_rank_files(disk, folder, *ours); !removed) return removed;
  }
  return remove_parts_of(disk, id);
}

Result<void> sweep_uncommitted(Disk& disk, const CheckpointId& before) {
  const Attempt own = before.attempt;
  const auto named = checkpoints_with_manifest_in(disk, {kManifests, kQuarantine, kAsideFolder});
  if (!named) return named.error();
  // Keep pinned checkpoints even if their manifest is missing: a process that removes an old checkpoint
  // removes the manifest first, and restores it if it finds a pin.
  const auto pinned = list_pinned(disk);
  if (!pinned) return pinned.error();
  std::set<CheckpointId> kept = *named;
  kept.insert(pinned->begin(), pinned->end());
  for (const char* folder : {kManifests, kQuarantine, kAsideFolder, kRollbacks}) {
    if (auto swept = sweep_temporary_files(disk, folder, own); !swept) return swept;
  }
  // Remove receipts before packs: a pack without its receipt is never committed.
  for (const char* kind : {kReceipts, kPacks}) {
    const auto attempts = list_if_there(disk, kind);
    if (!attempts) return attempts.error();
    for (const DiskEntry& entry : *attempts) {
      const auto attempt = parse_attempt_name(entry.name);
      if (!attempt || *attempt > own || !entry.is_folder) continue;
      if (auto swept = sweep_attempt(disk, kind, entry, kept, before); !swept) return swept;
    }
  }
  if (auto swept = sweep_parts(disk, before); !swept) return swept;
  if (auto removed = remove_old_commit_notes(disk); !removed) return removed;
  // A slow process of an older attempt may have committed a checkpoint whose packs this cleanup or an earlier
  // cleanup has removed. Remove the manifests of such checkpoints.
  const auto named_now = checkpoints_with_manifest_in(disk, {kManifests, kQuarantine, kAsideFolder});
  if (!named_now) return named_now.error();
  for (const CheckpointId& id : *named_now) {
    // If a pinned checkpoint lacks a pack, a copy of the pack elsewhere may repair it.
    if (named->contains(id) && pinned->contains(id) && has_any_pack(disk, id)) continue;
    if (id.attempt >= own || (named->contains(id) && !is_without_packs(disk, id))) continue;
    if (auto removed = remove_checkpoint(disk, id); !removed) return removed;
  }
  return {};
}

}  // namespace ratoon::checkpoint
