// What checkpoints a run's folder holds.
#pragma once

#include <string>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/disk.h"
#include "agent/src/checkpoint/manifest.h"
#include "base/contract/messages.h"

namespace ratoon::checkpoint {

// Newest first. That something was saved here once is never forgotten: what is damaged or was set aside is
// told, so that nobody starts over where there is something to lose.
struct Inventory {
  Attempt newest_attempt{0};  // that left anything here, committed or not
  std::vector<InventoryEntry> complete;
  std::vector<InventoryEntry> damaged;
};
[[nodiscard]] Result<Inventory> take_inventory(const Disk& disk);

// In place of a damaged entry's digest: the disk refuses its manifest. It may be sound.
inline constexpr const char* kUnreadable = "unreadable";

struct SealedManifest {
  Manifest manifest;
  std::string digest;  // XXH3-128 of its text: what a resume point names
};
[[nodiscard]] Result<SealedManifest> read_manifest(const Disk& disk, const CheckpointId& id);

[[nodiscard]] InventoryEntry entry_of(const CheckpointId& id, std::string digest, bool is_complete);
[[nodiscard]] CheckpointId id_of(const InventoryEntry& entry);

}  // namespace ratoon::checkpoint
