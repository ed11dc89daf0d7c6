// Mirroring: copies a committed checkpoint to a store, so that the loss of a node or a volume does no harm.
// Packs are sent first, the manifest last and only once. If the process is killed, the store has no
// checkpoint yet, and the next call sends only the rest.
//
//   auto store = objects::open_store("s3://bucket/runs/digits", {});
//   ObjectStoreDisk bucket(*store);
//   auto mirrored = mirror_checkpoint(local_disk, id, bucket, {});   // kept: the digest of its manifest
//
// Damaged bytes are not mirrored: the checksum of a whole pack follows from its header, and the store refuses
// an upload with another checksum.
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

struct Mirrored {
  std::string digest;            // of the manifest, the same in both places
  std::uint64_t packs_sent = 0;  // the others were there already
  std::uint64_t packs_there = 0;
  bool was_committed = false;  // before this call

  friend bool operator==(const Mirrored&, const Mirrored&) = default;
};

// When the copy returns without an error, the checkpoint is committed in the store. Returns kConflict if the
// store holds another checkpoint, or another run's pack, under that name, and keeps it; kCorrupted if the
// source is damaged. Other errors may be temporary: any process may make the call again.
[[nodiscard]] Result<Mirrored> mirror_checkpoint(const Disk& from, const CheckpointId& id,
                                                 ObjectStoreDisk& to, const MirrorOptions& options);

// Mirrors one rank's pack. Returns whether the pack had to be sent. mirror_pack() is for worlds whose ranks
// do not share a disk: each rank sends its own pack, with its receipt, and rank 0 commits in the store as it
// would in a folder.
[[nodiscard]] Result<bool> mirror_pack(const Disk& from, const CheckpointId& id, const PackRecord& record,
                                       ObjectStoreDisk& to, const MirrorOptions& options);

}  // namespace ratoon::checkpoint
