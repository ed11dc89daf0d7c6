// Mirroring: copies a committed checkpoint to a store, so that it survives the loss of a node or a volume.
// Mirroring sends the packs first, and then creates the manifest, which commits the checkpoint in the store.
// If the process is killed during the copy, the store has no checkpoint yet, and the next call sends only the
// packs that are missing.
//
//   auto store = objects::open_store("s3://bucket/runs/digits", {});
//   ObjectStoreDisk bucket(*store);
//   auto mirrored = mirror_checkpoint(local_disk, id, bucket, {});   // kept: the digest of its manifest
//
// The store never gets damaged bytes: the header of a pack determines the checksum of the whole pack, and the
// store refuses an upload with another checksum.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>

#include <ratoon/result.h>

#include "agent/src/checkpoint/format/manifest.h"
#include "agent/src/checkpoint/tiers/stores/object_store_disk.h"

namespace ratoon::checkpoint {

struct MirrorOptions {
  std::uint64_t part_bytes = std::uint64_t{8} << 20;  // the memory it takes is threads * part_bytes
  std::uint32_t threads = 4;
  std::function<void(std::uint64_t stored_bytes)> progress{};  // of the pack that is being sent
  std::stop_token stop{};
};

struct MirrorResult {
  std::string digest;            // of the manifest, the same in both places
  std::uint64_t packs_sent = 0;  // the others were there already
  std::uint64_t packs_already_in_store = 0;
  bool was_committed = false;  // before this call

  friend bool operator==(const MirrorResult&, const MirrorResult&) = default;
};

// When mirror_checkpoint() returns without an error, the checkpoint is committed in the store. Returns
// kConflict, and changes nothing, if the store has another checkpoint or another run's pack under the same
// name. Returns kCorrupted if the checkpoint in `from` is damaged. Errors except kConflict and kCorrupted may
// be temporary: any process may call mirror_checkpoint() again.
[[nodiscard]] Result<MirrorResult> mirror_checkpoint(const Disk& from, const CheckpointId& id,
                                                     ObjectStoreDisk& to, const MirrorOptions& options);

// Copies the pack of one rank to the store, after the part files that the pack needs. Returns true if the
// pack was sent, and false if the store already had it. Use mirror_pack() if the ranks do not share a disk:
// each rank sends its own pack and its receipt, and rank 0 commits the checkpoint in the store as it would in
// a folder.
[[nodiscard]] Result<bool> mirror_pack(const Disk& from, const CheckpointId& id, const PackRecord& record,
                                       ObjectStoreDisk& to, const MirrorOptions& options);

}  // namespace ratoon::checkpoint
