// How a checkpoint comes to be:
//   1. every rank writes its pack, durably
//   2. every rank writes its receipt: "my pack is on the disk". The receipt itself need not be there: nobody
//      commits after a power cut what an earlier attempt left
//   3. rank 0 sees all receipts and writes the manifest, once            <- the commit
// A checkpoint without a manifest does not exist. There is none, either, where parts of a tensor that ranks
// share do not make up the tensor.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include <ratoon/result.h>
#include <ratoon/tensor_view.h>

#include "agent/src/checkpoint/disk/disk.h"
#include "agent/src/checkpoint/manifest.h"
#include "agent/src/checkpoint/pack_writer.h"
#include "base/contract/messages.h"

namespace ratoon::checkpoint {

// Steps 1 and 2 for one rank. `mark` names the writer in temporary files. `owner` is the identity of the job,
// here and below: pack, receipt and manifest carry it, and what another job wrote is neither taken, nor
// removed, nor committed (kConflict). Empty: nothing is said, and nothing is compared.
[[nodiscard]] Result<void> write_pack(Disk& disk, const CheckpointId& id, Rank rank,
                                      std::span<const TensorView> tensors, std::string_view mark,
                                      std::string_view owner = {});

// The same of a pack that lies in memory as it will in its file, or is being copied there; `image` is
// layout.file_bytes() long. Where it was tried before, by this process or by one that died, whatever that
// left of this rank's is taken or replaced. `run` goes into the receipt; the owner is that of the layout.
enum class Tried { kNever, kBefore };
[[nodiscard]] Result<WrittenPack> write_staged_pack(Disk& disk, const CheckpointId& id, Rank rank,
                                                    const PackLayout& layout,
                                                    std::span<const std::byte> image, std::string_view mark,
                                                    Tried tried, const Filling& filling,
                                                    const std::optional<RunRecord>& run = {});

// Each of the two alone: who may lose the tensors meanwhile looks again before the vote.
[[nodiscard]] Result<PackRecord> write_unvoted_pack(Disk& disk, const CheckpointId& id, Rank rank,
                                                    std::span<const TensorView> tensors,
                                                    std::string_view mark, std::string_view owner = {});
[[nodiscard]] Result<void> vote(Disk& disk, const CheckpointId& id, const PackRecord& record,
                                std::string_view mark);

// Step 3. Nothing if receipts are still missing; else the committed checkpoint, whoever committed it.
// kInvalid where the packs are not one whole checkpoint; the sentence names the tensor. `receipts`: those
// that earlier calls of this process have read, by rank, so that no call reads them anew; empty after an
// error.
[[nodiscard]] Result<std::optional<InventoryEntry>> try_commit(Disk& disk, const CheckpointId& id,
                                                               std::uint32_t world_size,
                                                               std::string_view mark, std::string_view owner,
                                                               std::vector<PackRecord>& receipts);
// The same in one call.
[[nodiscard]] Result<std::optional<InventoryEntry>> try_commit(Disk& disk, const CheckpointId& id,
                                                               std::uint32_t world_size,
                                                               std::string_view mark,
                                                               std::string_view owner = {});

// What is committed under this name, durably, or nothing.
[[nodiscard]] Result<std::optional<InventoryEntry>> find_committed(Disk& disk, const CheckpointId& id,
                                                                   std::string_view owner = {});

}  // namespace ratoon::checkpoint
