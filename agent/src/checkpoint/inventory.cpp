#include "agent/src/checkpoint/inventory.h"

#include <algorithm>

#include "agent/src/checkpoint/disk/durable.h"
#include "base/core/xxh3.h"

namespace ratoon::checkpoint {
namespace {

// No entries where there is no folder yet.
Result<std::vector<DiskEntry>> list_if_there(const Disk& disk, const std::string& path) {
  auto entries = disk.list(path);
  if (!entries && entries.error().kind() == ErrorKind::kNotFound) return std::vector<DiskEntry>();
  return entries;
}

Result<std::vector<CheckpointId>> manifests_in(const Disk& disk, const char* folder) {
  const auto entries = list_if_there(disk, folder);
  if (!entries) return entries.error();
  std::vector<CheckpointId> ids;
  for (const DiskEntry& entry : *entries) {
    const auto id = parse_manifest_name(entry.name);
    if (id && !entry.is_folder) ids.push_back(*id);
  }
  std::sort(ids.rbegin(), ids.rend());
  return ids;
}

// Whoever wrote packs and committed nothing has used up its number all the same.
Result<Attempt> newest_attempt_in(const Disk& disk) {
  const auto entries = list_if_there(disk, kPacks);
  if (!entries) return entries.error();
  Attempt newest{0};
  for (const DiskEntry& entry : *entries) {
    if (const auto attempt = parse_attempt_name(entry.name)) newest = std::max(newest, *attempt);
  }
  return newest;
}

Result<SealedManifest> read_manifest_once(const Disk& disk, const CheckpointId& id) {
  const std::string path = manifest_path(id);
  const auto text = read_whole(disk, path, kManifestBytesMax);
  if (!text) return text.error();
  auto manifest = decode_manifest(*text);
  if (!manifest) return Error(manifest.error().kind(), disk.shown(path) + ": " + manifest.error().message());
  if (manifest->id != id)
    return Error(ErrorKind::kCorrupted, disk.shown(path) + " describes another checkpoint");
  return SealedManifest{.manifest = *std::move(manifest),
                        .digest = to_hex(xxh3_128(std::as_bytes(std::span(*text))))};
}

}  // namespace

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

Result<SealedManifest> read_manifest(const Disk& disk, const CheckpointId& id) {
  return read_twice([&] { return read_manifest_once(disk, id); });
}

Result<Inventory> take_inventory(const Disk& disk) {
  const auto committed = manifests_in(disk, kManifests);
  if (!committed) return committed.error();
  const auto newest = newest_attempt_in(disk);
  if (!newest) return newest.error();

  Inventory found{.newest_attempt = *newest, .complete = {}, .damaged = {}};
  for (const CheckpointId& id : *committed) {
    found.newest_attempt = std::max(found.newest_attempt, id.attempt);
    auto sealed = read_manifest(disk, id);
    if (sealed)
      found.complete.push_back(entry_of(id, std::move(sealed->digest), true));
    else if (sealed.error().kind() == ErrorKind::kCorrupted)
      found.damaged.push_back(entry_of(id, "damaged", false));
    else if (sealed.error().kind() == ErrorKind::kIo)
      found.damaged.push_back(entry_of(id, kUnreadable, false));
    else if (sealed.error().kind() != ErrorKind::kNotFound)  // else it was retired since it was listed
      return sealed.error();
  }
  // Last, so that what is set aside meanwhile is in one of the two lists at least.
  const auto set_aside = manifests_in(disk, kQuarantine);
  if (!set_aside) return set_aside.error();
  for (const CheckpointId& id : *set_aside) {
    found.newest_attempt = std::max(found.newest_attempt, id.attempt);
    found.damaged.push_back(entry_of(id, "set aside", false));
  }
  return found;
}

}  // namespace ratoon::checkpoint
