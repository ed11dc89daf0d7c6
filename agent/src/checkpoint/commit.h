// How a checkpoint comes to be:
//   1. every rank writes its pack, durably
//   2. every rank writes its receipt: "my pack is on the disk". The receipt itself need not be: after a power
//   cut
//      nobody commits what an earlier attempt left
//   3. rank 0 sees all receipts and writes the manifest, once            <- the commit
// A checkpoint without a manifest does not exist.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include <ratoon/result.h>
#include <ratoon/tensor_view.h>

#include "agent/src/checkpoint/disk/disk.h"
#include "agent/src/checkpoint/manifest.h"
#include "base/contract/messages.h"

namespace ratoon::checkpoint {

// Steps 1 and 2 for one rank. `mark` names the writer in temporary files.
[[nodiscard]] Result<void> write_pack(Disk& disk, const CheckpointId& id, Rank rank,
                                      std::span<const TensorView> tensors, std::string_view mark);

// Step 3. Nothing if receipts are still missing; else the committed checkpoint, whoever committed it.
[[nodiscard]] Result<std::optional<InventoryEntry>> try_commit(Disk& disk, const CheckpointId& id,
                                                               std::uint32_t world_size,
                                                               std::string_view mark);

// What is committed under this name, durably, or nothing.
[[nodiscard]] Result<std::optional<InventoryEntry>> find_committed(Disk& disk, const CheckpointId& id);

}  // namespace ratoon::checkpoint
