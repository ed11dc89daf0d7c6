// Inventory: the checkpoints in a run's folder.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/disk.h"
#include "agent/src/checkpoint/format/manifest.h"
#include "agent/src/checkpoint/format/rollback.h"
#include "base/contract/messages.h"

namespace ratoon::checkpoint {

// Newest first. Checkpoints that are damaged or were set aside are listed too, so that no run starts over
// while it has checkpoints to lose. Other processes may commit and retire checkpoints during the listing.
struct Inventory {
  Attempt newest_attempt{0};  // the newest that left files here, committed or not
  std::vector<InventoryEntry> complete{};
  std::vector<InventoryEntry> damaged{};
  std::vector<Rollback> rollbacks{};       // all that were ever made, oldest first
  std::vector<InventoryEntry> given_up{};  // by rollbacks in force; their files are kept
  std::set<std::string> foreign_paths{};   // paths with numbers above the limits: ignored, and not removed
};
[[nodiscard]] Result<Inventory> take_inventory(const Disk& disk);

// The digest of a damaged entry whose manifest the disk cannot read, although the manifest may be intact.
inline constexpr const char* kUnreadable = "unreadable";

// The digest of a damaged entry whose manifest names a pack that does not exist.
inline constexpr const char* kWithoutPack = "without a pack";

// The XXH3-128 of a manifest's text, which a resume point contains.
[[nodiscard]] std::string manifest_digest(std::string_view text);

struct SealedManifest {
  Manifest manifest;
  std::string text;  // as in the file
  std::string digest;
};
[[nodiscard]] Result<SealedManifest> read_manifest(const Disk& disk, const CheckpointId& id);

// Whether one of the checkpoint's packs does not exist; false if the disk cannot list the packs. An older
// attempt may commit late, after its packs were removed: the manifest of that late commit is no checkpoint,
// and does not replace a checkpoint.
[[nodiscard]] bool lacks_a_pack(const Disk& disk, const Manifest& manifest);

[[nodiscard]] InventoryEntry entry_of(const CheckpointId& id, std::string digest, bool is_complete);
[[nodiscard]] CheckpointId id_of(const InventoryEntry& entry);

}  // namespace ratoon::checkpoint
