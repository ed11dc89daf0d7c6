// checkpoint/commit/: Commits checkpoints, lists the checkpoints in a run's folder, and writes the records of
// rollbacks and commits.
//
// The steps of a commit:
//   1. Every rank writes its pack, and the part files that no earlier checkpoint has, durably.
//   2. Every rank writes its receipt, which says that its pack is on the disk. The receipt itself need not
//      be durable: after a power cut, no attempt commits the packs of an earlier attempt.
//   3. Rank 0 reads all receipts and writes the manifest, once.          <- the commit
// A checkpoint exists only after rank 0 has written its manifest. Rank 0 writes no manifest if the parts of a
// shared tensor do not make up the whole tensor.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include <ratoon/result.h>
#include <ratoon/tensor_view.h>

#include "agent/src/checkpoint/disk/disk.h"
#include "agent/src/checkpoint/format/manifest.h"
#include "agent/src/checkpoint/parts/split_parts.h"
#include "agent/src/checkpoint/saver/pack_writer.h"
#include "base/contract/messages.h"

namespace ratoon::checkpoint {

// Steps 1 and 2 of a commit for one rank: writes its pack and its receipt. `mark`, a text that is unique to
// the writing process, is a part of the names of its temporary files. `owner`, the identity of the job, is
// written into pack, receipt and manifest. If a file belongs to another job, write_pack() returns kConflict
// and leaves the file unchanged. If `owner` is empty, no job identity is recorded or compared.
[[nodiscard]] Result<void> write_pack(Disk& disk, const CheckpointId& id, Rank rank,
                                      std::span<const TensorView> tensors, std::string_view mark,
                                      std::string_view owner = {}, const CommittedParts& known = {});

// Makes steps 1 and 2 of a commit for a pack whose image is in memory, or is still being copied into memory.
// `image` has layout.file_bytes() bytes. EarlierWriteTry::kBefore says that this process or an earlier
// process has already tried to write this pack: the files of that try are used or replaced. `run`, the record
// of the run, is written into the receipt. The identity of the job is layout.owner. `parts` are the tensors
// of this rank that are not in the pack; their bytes must be complete when `filling` is complete.
enum class EarlierWriteTry { kNever, kBefore };
[[nodiscard]] Result<WrittenPack> write_staged_pack(Disk& disk, const CheckpointId& id, Rank rank,
                                                    const PackLayout& layout,
                                                    std::span<const std::byte> image, std::string_view mark,
                                                    EarlierWriteTry tried, const CopyProgress& filling,
                                                    const std::optional<RunRecord>& run = {},
                                                    const PartsOfSave& parts = {});

// Steps 1 and 2 of a commit in two calls: write_unvoted_pack() writes the pack, and write_receipt() writes
// the receipt. Before write_receipt(), check that no tensor was freed since the call of write_unvoted_pack().
[[nodiscard]] Result<PackRecord> write_unvoted_pack(Disk& disk, const CheckpointId& id, Rank rank,
                                                    std::span<const TensorView> tensors,
                                                    std::string_view mark, std::string_view owner = {},
                                                    const CommittedParts& known = {});
[[nodiscard]] Result<void> write_receipt(Disk& disk, const CheckpointId& id, const PackRecord& record,
                                         std::string_view mark);

// Reads the receipts of this checkpoint that `receipts` does not contain yet, and adds them to `receipts`.
// Returns false if a receipt does not exist yet because its rank has not finished its pack.
[[nodiscard]] Result<bool> read_receipts(const Disk& disk, const CheckpointId& id, std::uint32_t world_size,
                                         std::vector<PackRecord>& receipts);

// Step 3 of a commit: writes the manifest. Returns nothing if receipts are missing. Returns the committed
// checkpoint, even if another process committed it. Returns kInvalid if the packs do not make up one whole
// checkpoint; the message names the tensor that is not whole. `receipts` holds, by rank, the receipts that
// earlier calls have read: try_commit() does not read them again. try_commit() empties `receipts` if it
// returns an error.
[[nodiscard]] Result<std::optional<InventoryEntry>> try_commit(Disk& disk, const CheckpointId& id,
                                                               std::uint32_t world_size,
                                                               std::string_view mark, std::string_view owner,
                                                               std::vector<PackRecord>& receipts);
// This overload of try_commit() keeps no receipts between calls: each call reads all receipts.
[[nodiscard]] Result<std::optional<InventoryEntry>> try_commit(Disk& disk, const CheckpointId& id,
                                                               std::uint32_t world_size,
                                                               std::string_view mark,
                                                               std::string_view owner = {});

// Returns the checkpoint that is committed under this id (attempt and step), after making the name of its
// manifest durable. Returns nothing if no checkpoint is committed under this id.
[[nodiscard]] Result<std::optional<InventoryEntry>> find_committed(Disk& disk, const CheckpointId& id,
                                                                   std::string_view owner = {});

}  // namespace ratoon::checkpoint
