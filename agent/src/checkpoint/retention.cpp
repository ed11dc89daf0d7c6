#include "agent/src/checkpoint/retention.h"

#include <algorithm>
#include <set>

#include "agent/src/checkpoint/disk/durable.h"
#include "agent/src/checkpoint/manifest.h"

namespace ratoon::checkpoint {
namespace {

bool says(const Result<void>& result, ErrorKind kind) {
  return !result && result.error().kind() == kind;
}

std::string quarantine_path(const CheckpointId& id) {
  return std::string(kQuarantine) + manifest_path(id).substr(std::string_view(kManifests).size());
}

// What an attempt left under `kind` ("packs", "receipts") for steps that have no manifest.
Result<void> sweep_attempt(Disk& disk, const std::string& kind, const DiskEntry& attempt,
                           const std::set<CheckpointId>& committed) {
  const std::string folder = kind + "/" + attempt.name;
  const auto steps = disk.list(folder);
  if (!steps) return steps.error();
  for (const DiskEntry& entry : *steps) {
    const auto step = parse_step_name(entry.name);
    if (!step || committed.contains({.attempt = *parse_attempt_name(attempt.name), .step = *step})) continue;
    if (auto removed = remove_tree(disk, folder + "/" + entry.name); !removed) return removed;
  }
  // Full while something of it is kept, or somebody's file is in it.
  static_cast<void>(disk.remove_folder(folder));
  return {};
}

// Those of writers that died, since one attempt has one writer here, and an older one must not commit any
// more.
Result<void> sweep_temporary_files(Disk& disk, const std::string& folder) {
  const auto entries = disk.list(folder);
  if (!entries && entries.error().kind() == ErrorKind::kNotFound) return {};
  if (!entries) return entries.error();
  for (const DiskEntry& entry : *entries) {
    if (entry.is_folder || !is_temporary_name(entry.name)) continue;
    const auto removed = disk.remove(folder + "/" + entry.name);
    if (!removed && !says(removed, ErrorKind::kNotFound)) return removed;
  }
  return {};
}

Result<std::set<CheckpointId>> named_checkpoints(const Disk& disk) {
  std::set<CheckpointId> ids;
  for (const char* folder : {kManifests, kQuarantine}) {
    const auto entries = disk.list(folder);
    if (!entries && entries.error().kind() == ErrorKind::kNotFound) continue;
    if (!entries) return entries.error();
    for (const DiskEntry& entry : *entries) {
      if (const auto id = parse_manifest_name(entry.name)) ids.insert(*id);
    }
  }
  return ids;
}

}  // namespace

std::vector<CheckpointId> choose_retired(std::span<const CheckpointId> newest_first, const KeepRules& rules,
                                         Attempt own) {
  const std::uint64_t last = std::max<std::uint64_t>(rules.last, 1);
  std::vector<CheckpointId> retired;
  for (std::size_t i = last; i < newest_first.size(); ++i) {
    const CheckpointId& id = newest_first[i];
    const bool is_milestone = rules.every_steps != 0 && id.step.value() % rules.every_steps == 0;
    if (!is_milestone && id.attempt <= own) retired.push_back(id);
  }
  return retired;
}

Result<void> remove_checkpoint(Disk& disk, const CheckpointId& id) {
  const auto removed = disk.remove(manifest_path(id));
  if (!removed && !says(removed, ErrorKind::kNotFound)) return removed;
  if (auto synced = disk.sync_folder(kManifests); !synced) return synced;
  if (auto receipts = remove_tree(disk, receipts_folder(id)); !receipts) return receipts;
  return remove_tree(disk, packs_folder(id));
}

Result<void> set_aside(Disk& disk, const CheckpointId& id, std::string_view reason, std::string_view mark) {
  if (auto made = make_folders(disk, kQuarantine, Lasts::kPowerCuts); !made) return made;
  const std::string place = quarantine_path(id);
  std::string text(reason);
  text += '\n';
  static_cast<void>(disk.remove(place + ".reason.txt"));  // of an earlier try
  if (auto told = save_for_now(disk, place + ".reason.txt", text, mark); !told) return told;
  // Copied and then removed: after a cut there are both rather than none, which would look like a fresh
  // start.
  const auto manifest = read_whole(disk, manifest_path(id), kManifestBytesMax);
  if (!manifest && manifest.error().kind() == ErrorKind::kNotFound) return {};
  if (!manifest) return manifest.error();
  if (auto copied = save_durably(disk, place, *manifest, mark, IfThere::kReplace); !copied) return copied;
  const auto removed = disk.remove(manifest_path(id));
  if (!removed && !says(removed, ErrorKind::kNotFound)) return removed;
  return disk.sync_folder(kManifests);
}

Result<void> sweep_uncommitted(Disk& disk, Attempt own) {
  const auto named = named_checkpoints(disk);
  if (!named) return named.error();
  for (const char* folder : {kManifests, kQuarantine}) {
    if (auto swept = sweep_temporary_files(disk, folder); !swept) return swept;
  }
  // Votes go first: a pack without its vote is in no commit.
  for (const char* kind : {kReceipts, kPacks}) {
    const auto attempts = disk.list(kind);
    if (!attempts && attempts.error().kind() == ErrorKind::kNotFound) continue;
    if (!attempts) return attempts.error();
    for (const DiskEntry& entry : *attempts) {
      const auto attempt = parse_attempt_name(entry.name);
      if (!attempt || *attempt >= own || !entry.is_folder) continue;
      if (auto swept = sweep_attempt(disk, kind, entry, *named); !swept) return swept;
    }
  }
  return {};
}

}  // namespace ratoon::checkpoint
