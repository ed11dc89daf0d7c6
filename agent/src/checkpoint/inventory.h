// What checkpoints a run's folder holds.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/disk.h"
#include "agent/src/checkpoint/manifest.h"
#include "agent/src/checkpoint/rollback.h"
#include "base/contract/messages.h"

namespace ratoon::checkpoint {

// Newest first. That something was saved here once is never forgotten: what is damaged or was set aside is
// told, so that nobody starts over where there is something to lose. Others may commit and retire meanwhile.
struct Inventory {
  Attempt newest_attempt{0};  // that left anything here, committed or not
  std::vector<InventoryEntry> complete{};
  std::vector<InventoryEntry> damaged{};
  std::vector<Rollback> rollbacks{};  // all that were ever made, oldest first
  std::vector<InventoryEntry>
      given_up{};  // by those in force: no checkpoints, though nothing of them is deleted
  std::set<std::string>
      strangers{};  // paths with numbers that no run reaches: left alone, and not counted on
};
[[nodiscard]] Result<Inventory> take_inventory(const Disk& disk);

// In place of a damaged entry's digest: the disk refuses its manifest. It may be sound.
inline constexpr const char* kUnreadable = "unreadable";

// And where a pack that its manifest names is gone.
inline constexpr const char* kWithoutPack = "without a pack";

// XXH3-128 of a manifest's text: what a resume point names.
[[nodiscard]] std::string manifest_digest(std::string_view text);

struct SealedManifest {
  Manifest manifest;
  std::string text;  // as it lies on the disk
  std::string digest;
};
[[nodiscard]] Result<SealedManifest> read_manifest(const Disk& disk, const CheckpointId& id);

// Whether one of its packs is gone; no where the disk does not say. A late writer of an older attempt may
// commit what was swept before: such a manifest is no checkpoint, and takes the place of none.
[[nodiscard]] bool misses_a_pack(const Disk& disk, const Manifest& manifest);

[[nodiscard]] InventoryEntry entry_of(const CheckpointId& id, std::string digest, bool is_complete);
[[nodiscard]] CheckpointId id_of(const InventoryEntry& entry);

}  // namespace ratoon::checkpoint
