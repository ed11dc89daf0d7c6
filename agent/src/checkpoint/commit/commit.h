// checkpoint/commit/: Commits of checkpoints, inventories of a run's folder, and the records beside them.
//
// The steps of a commit:
//   1. Every rank writes its pack, durably.
//   2. Every rank writes its receipt: its pack is on the disk. The receipt itself need not be durable:
//      after a power cut no attempt commits the packs of an earlier one.
//   3. Rank 0 reads all receipts and writes the manifest, once.          <- the commit
// A checkpoint without a manifest does not exist. Rank 0 writes no manifest if the parts of a shared tensor
// do not make up the whole tensor.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include <ratoon/result.h>
#include <ratoon/tensor_view.h>

#include "agent/src/checkpoint/disk/disk.h"
#include "agent/src/checkpoint/format/manifest.h"
#include "agent/src/checkpoint/saver/pack_writer.h"
#include "base/contract/messages.h"

namespace ratoon::checkpoint {

// Steps 1 and 2 of a commit for one rank. `mark` names the writer in temporary files. `owner`, here and
// below, is the identity of the job: pack, receipt and manifest carry it. Files of another job are not taken,
// removed or committed (kConflict). If `owner` is empty, the identity is neither recorded nor compared.
[[nodiscard]] Result<void> write_pack(Disk& disk, const CheckpointId& id, Rank rank,
                                      std::span<const TensorView> tensors, std::string_view mark,
                                      std::string_view owner = {});

// Makes steps 1 and 2 for a pack whose image is in memory, or is still being copied into memory. `image` has
// layout.file_bytes() bytes. With Tried::kBefore, this process or an earlier process has tried to write this
// pack before: the files of that try are used or replaced. `run` is written into the receipt. The owner is
// layout.owner.
enum class Tried { kNever, kBefore };
[[nodiscard]] Result<WrittenPack> write_staged_pack(Disk& disk, const CheckpointId& id, Rank rank,
                                                    const PackLayout& layout,
                                                    std::span<const std::byte> image, std::string_view mark,
                                                    Tried tried, const CopyProgress& filling,
                                                    const std::optional<RunRecord>& run = {});

// Steps 1 and 2 of a commit in two calls. Before vote(), check that no tensor was freed since the first call.
[[nodiscard]] Result<PackRecord> write_unvoted_pack(Disk& disk, const CheckpointId& id, Rank rank,
                                                    std::span<const TensorView> tensors,
                                                    std::string_view mark, std::string_view owner = {});
[[nodiscard]] Result<void> vote(Disk& disk, const CheckpointId& id, const PackRecord& record,
                                std::string_view mark);

// Adds the receipts that `receipts` lacks. Returns false if a receipt does not exist yet: a rank has not
// written its pack.
[[nodiscard]] Result<bool> read_receipts(const Disk& disk, const CheckpointId& id, std::uint32_t world_size,
                                         std::vector<PackRecord>& receipts);

// Step 3. Returns nothing if receipts are missing, else the committed checkpoint, also if another process
// committed it. Returns kInvalid if the packs do not make up one checkpoint; the message names the tensor.
// `receipts` holds the receipts that earlier calls of this process have read, by rank, so that no call reads
// them again. After an error `receipts` is empty.
[[nodiscard]] Result<std::optional<InventoryEntry>> try_commit(Disk& disk, const CheckpointId& id,
                                                               std::uint32_t world_size,
                                                               std::string_view mark, std::string_view owner,
                                                               std::vector<PackRecord>& receipts);
// This overload of try_commit() has no receipts of earlier calls, and reads all receipts itself.
[[nodiscard]] Result<std::optional<InventoryEntry>> try_commit(Disk& disk, const CheckpointId& id,
                                                               std::uint32_t world_size,
                                                               std::string_view mark,
                                                               std::string_view owner = {});

// Returns the checkpoint that is committed under this id, after making its name durable. Returns nothing if
// no checkpoint is committed under this id.
[[nodiscard]] Result<std::optional<InventoryEntry>> find_committed(Disk& disk, const CheckpointId& id,
                                                                   std::string_view owner = {});

}  // namespace ratoon::checkpoint
