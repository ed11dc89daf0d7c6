#include "agent/src/checkpoint/commit/inventory.h"

#include <algorithm>
#include <functional>
#include <set>

#include "agent/src/checkpoint/commit/rollback_files.h"
#include "agent/src/checkpoint/disk/durable.h"
#include "base/contract/resume_point.h"
#include "base/core/xxh3.h"

namespace ratoon::checkpoint {
namespace {

constexpr int kListingTriesMax = 100;

void collect_out_of_range_paths(const char* folder, std::span<const DiskEntry> entries,
                                std::set<std::string>& foreign_paths) {
  for (const DiskEntry& entry : entries)
    if (has_number_above_limit(entry.name)) foreign_paths.insert(std::string(folder) + "/" + entry.name);
}

Result<std::vector<CheckpointId>> manifests_in(const Disk& disk, const char* folder,
                                               std::set<std::string>& foreign_paths) {
  const auto entries = list_if_there(disk, folder);
  if (!entries) return entries.error();
  collect_out_of_range_paths(folder, *entries, foreign_paths);
  std::vector<CheckpointId> ids;
  for (const DiskEntry& entry : *entries) {
    const auto id = parse_manifest_name(entry.name);
    if (id && !entry.is_folder) ids.push_back(*id);
  }
  std::sort(ids.rbegin(), ids.rend());
  return ids;
}

// The number of an attempt that wrote packs or a history is never used again, even if the attempt committed
// no checkpoint, or if a rollback moved its manifests to aside/.
Result<Attempt> newest_attempt_in(const Disk& disk, std::set<std::string>& foreign_paths) {
  const auto entries = list_if_there(disk, kPacks);
  if (!entries) return entries.error();
  const auto histories = list_if_there(disk, kHistory);
  if (!histories) return histories.error();
  collect_out_of_range_paths(kPacks, *entries, foreign_paths);
  collect_out_of_range_paths(kHistory, *histories, foreign_paths);
  const auto aside = manifests_in(disk, kAsideFolder, foreign_paths);
  if (!aside) return aside.error();
  Attempt newest = aside->empty() ? Attempt(0) : aside->front().attempt;
  for (const DiskEntry& entry : *entries) {
    if (const auto attempt = parse_attempt_name(entry.name)) newest = std::max(newest, *attempt);
  }
  for (const DiskEntry& entry : *histories) {
    if (const auto attempt = parse_history_name(entry.name)) newest = std::max(newest, *attempt);
  }
  return newest;
}

Result<ManifestFile> read_manifest_once(const Disk& disk, const CheckpointId& id) {
  const std::string path = manifest_path(id);
  auto text = read_whole_file(disk, path, kManifestBytesMax);
  if (!text) return text.error();
  auto manifest = decode_manifest(*text);
  if (!manifest) return Error(manifest.error().kind(), disk.shown(path) + ": " + manifest.error().message());
  if (manifest->id != id)
    return Error(ErrorKind::kCorrupted,
                 disk.shown(path) + " describes another checkpoint than its name says");
  std::string digest = manifest_digest(*text);
  return ManifestFile{
      .manifest = *std::move(manifest), .text = *std::move(text), .digest = std::move(digest)};
}

}  // namespace

std::string manifest_digest(std::string_view text) {
  return to_hex(xxh3_128(std::as_bytes(std::span(text))));
}

InventoryEntry entry_of(const CheckpointId& id, std::string digest, bool is_complete) {
  return {.tier = "volume",
          .attempt = id.attempt,
          .step = id.step,
          .digest = std::move(digest),
          .is_complete = is_complete};
}

CheckpointId id_of(const InventoryEntry& entry) {
  return {.attempt = entry.attempt, .step = entry.step};
}

Result<ManifestFile> read_manifest(const Disk& disk, const CheckpointId& id) {
  return read_file_with_retry(disk, manifest_path(id), [&] { return read_manifest_once(disk, id); });
}

bool lacks_a_pack(const Disk& disk, const Manifest& manifest) {
  const std::string folder = packs_folder(manifest.id);
  const auto there = list_if_there(disk, folder);  // sorted by name
  if (!there) return false;
  return !std::all_of(manifest.packs.begin(), manifest.packs.end(), [&](const PackRecord& pack) {
    const DiskEntry wanted{.name = pack_path(manifest.id, pack.rank).substr(folder.size() + 1)};
    return std::binary_search(there->begin(), there->end(), wanted);
  });
}

namespace {

// Adds the listed checkpoints to `found`. Returns false if a manifest was removed after the listing, because
// another process has committed a newer checkpoint and removed the old one. The caller must then list the
// manifests again: the list lacks the newer checkpoint, which may be the only one.
Result<bool> read_listed_manifests(const Disk& disk, std::span<const CheckpointId> listed, Inventory& found) {
  for (const CheckpointId& id : listed) {
    found.newest_attempt = std::max(found.newest_attempt, id.attempt);
    auto sealed = read_manifest(disk, id);
    const bool has_all = sealed && !lacks_a_pack(disk, sealed->manifest);
    // A process that removes an old checkpoint removes its manifest before its packs. If a pack is missing,
    // read the manifest again: if the manifest is gone too, the checkpoint was removed as old; otherwise it
    // is damaged.
    if (sealed && !has_all) sealed = read_manifest(disk, id);
    if (!sealed && sealed.error().kind() == ErrorKind::kNotFound) return false;
    if (has_all)
      found.complete.push_back(entry_of(id, std::move(sealed->digest), true));
    else if (sealed)
      found.damaged.push_back(entry_of(id, kMissingPackDigest, false));
    else if (sealed.error().kind() == ErrorKind::kCorrupted)
      found.damaged.push_back(entry_of(id, "damaged", false));
    else if (sealed.error().kind() == ErrorKind::kIo)
      found.damaged.push_back(entry_of(id, kUnreadable, false));
    else
      return sealed.error();
  }
  return true;
}

// Moves the checkpoints that rollbacks gave up from the lists `complete` and `damaged` into the list
// `given_up`. Call separate_given_up_checkpoints() after listing the manifests: a rollback writes its record
// before it moves manifests to aside/, so the record of each moved manifest exists.
Result<void> separate_given_up_checkpoints(const Disk& disk, Inventory& found) {
  auto rollbacks = rollbacks_in(disk);
  if (!rollbacks) return rollbacks.error();
  found.rollbacks = *std::move(rollbacks);
  if (found.rollbacks.empty()) return {};
  found.newest_attempt = std::max(found.newest_attempt, found.rollbacks.back().attempt);
  const auto aside = manifests_in(disk, kAsideFolder, found.foreign_paths);
  if (!aside) return aside.error();
  const auto standing = rollbacks_in_force(found.rollbacks);
  std::set<CheckpointId, std::greater<>> given_up;
  for (auto* list : {&found.complete, &found.damaged}) {
    for (const InventoryEntry& entry : *list) given_up.insert(id_of(entry));
    std::erase_if(*list, [&](const InventoryEntry& entry) { return is_given_up(id_of(entry), standing); });
  }
  given_up.insert(aside->begin(), aside->end());
  for (const CheckpointId& id : given_up)
    if (is_given_up(id, standing)) found.given_up.push_back(entry_of(id, kAbandonedDigest, false));
  return {};
}

}  // namespace

Result<Inventory> take_inventory(const Disk& disk) {
  std::set<std::string> foreign_paths;
  const auto newest = newest_attempt_in(disk, foreign_paths);
  if (!newest) return newest.error();
  Inventory found;
  bool has_seen_all = false;
  for (int look = 0; !has_seen_all; ++look) {
    if (look == kListingTriesMax)
      return Error(ErrorKind::kUnavailable, "the checkpoints in " + disk.shown(kManifests) +
                                                " change faster than they can be listed; another process of "
                                                "this run is still saving: stop it, or try again");
    const auto committed = manifests_in(disk, kManifests, foreign_paths);
    if (!committed) return committed.error();
    found = Inventory{.newest_attempt = *newest, .complete = {}, .damaged = {}};
    const auto looked = read_listed_manifests(disk, *committed, found);
    if (!looked) return looked.error();
    has_seen_all = *looked;
  }
  // List quarantine/ after manifests/: a checkpoint whose manifest moves to quarantine/ during the listing is
  // then in at least one of the two lists.
  const auto quarantine_checkpoint = manifests_in(disk, kQuarantine, foreign_paths);
  if (!quarantine_checkpoint) return quarantine_checkpoint.error();
  for (const CheckpointId& id : *quarantine_checkpoint) {
    found.newest_attempt = std::max(found.newest_attempt, id.attempt);
    found.damaged.push_back(entry_of(id, "set aside", false));
  }
  found.foreign_paths = std::move(foreign_paths);
  if (auto left_out = separate_given_up_checkpoints(disk, found); !left_out) return left_out.error();
  return found;
}

}  // namespace ratoon::checkpoint
