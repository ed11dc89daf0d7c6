// Inventory: the list of all checkpoints in a run's folder.
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

// The checkpoints are listed newest first. Damaged checkpoints and checkpoints in quarantine are listed too,
// so that no run starts over at step 0 while it still has checkpoints. Other processes may commit checkpoints
// and remove old ones during the listing.
struct Inventory {
  Attempt newest_attempt{0};  // the newest that left files here, committed or not
  std::vector<InventoryEntry> complete{};
  std::vector<InventoryEntry> damaged{};
  std::vector<Rollback> rollbacks{};       // all that were ever made, oldest first
  std::vector<InventoryEntry> given_up{};  // by rollbacks in force; their files are kept
  std::set<std::string> foreign_paths{};   // paths with numbers above the limits: ignored, and not removed
};
[[nodiscard]] Result<Inventory> take_inventory(const Disk& disk);

// If the disk cannot read a manifest, the `digest` of its entry is kUnreadable.
inline constexpr const char* kUnreadable = "unreadable";

// If a manifest names a pack that does not exist, the `digest` of its entry is kMissingPackDigest.
inline constexpr const char* kMissingPackDigest = "without a pack";

// Returns the XXH3-128 digest of a manifest's text. A resume point contains the digest of its manifest.
[[nodiscard]] std::string manifest_digest(std::string_view text);

struct ManifestFile {
  Manifest manifest;
  std::string text;  // as in the file
  std::string digest;
};
[[nodiscard]] Result<ManifestFile> read_manifest(const Disk& disk, const CheckpointId& id);

// Returns true if a pack file that the manifest names does not exist. Returns false also if the disk cannot
// list the pack files. A process of an older attempt may write a manifest after a newer attempt has removed
// the packs that the manifest names. A manifest without packs is no checkpoint.
[[nodiscard]] bool lacks_a_pack(const Disk& disk, const Manifest& manifest);

[[nodiscard]] InventoryEntry entry_of(const CheckpointId& id, std::string digest, bool is_complete);
[[nodiscard]] CheckpointId id_of(const InventoryEntry& entry);

}  // namespace ratoon::checkpoint
