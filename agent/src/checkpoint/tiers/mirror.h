// Mirroring: a checkpoint that is committed in one place becomes the same checkpoint in a store, so that a
// node or a volume may be lost. Packs first, the manifest last and only once: what a kill at any moment
// leaves behind is no checkpoint yet, and the next call finishes it without sending twice what is there.
//
//   auto store = objects::open_store("s3://bucket/runs/digits", {});
//   StoreDisk bucket(*store);
//   auto mirrored = mirror_checkpoint(local_disk, id, bucket, {});   // kept: the digest of its manifest
//
// Nothing damaged is mirrored: the sums in a pack's header say which checksum its bytes must have, and the
// store is given none that have another one.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>

#include <ratoon/result.h>

#include "agent/src/checkpoint/manifest.h"
#include "agent/src/checkpoint/tiers/store_disk.h"

namespace ratoon::checkpoint {

struct MirrorOptions {
  std::uint64_t part_bytes = std::uint64_t{8} << 20;  // the memory it takes is threads * part_bytes
  std::uint32_t threads = 4;
  std::function<void(std::uint64_t stored_bytes)> progress{};  // of the pack that is being sent
  std::stop_token stop{};
};

struct Mirrored {
  std::string digest;            // of the manifest, there as here
  std::uint64_t packs_sent = 0;  // the others were there already
  std::uint64_t packs_there = 0;
  bool was_committed = false;  // before this call

  friend bool operator==(const Mirrored&, const Mirrored&) = default;
};

// Done when it returns: the checkpoint is committed in the store. kConflict: the store holds another
// checkpoint, or another run's pack, under that name, and keeps it. kCorrupted: what is to be mirrored is
// damaged. Any other error may pass, and the call may be made again, by any process.
[[nodiscard]] Result<Mirrored> mirror_checkpoint(const Disk& from, const CheckpointId& id, StoreDisk& to,
                                                 const MirrorOptions& options);

// One rank's pack; whether it had to be sent. For worlds whose ranks do not share a disk: each sends its own,
// with its receipt, and rank 0 commits in the store as it would in a folder.
[[nodiscard]] Result<bool> mirror_pack(const Disk& from, const CheckpointId& id, const PackRecord& record,
                                       StoreDisk& to, const MirrorOptions& options);

}  // namespace ratoon::checkpoint
