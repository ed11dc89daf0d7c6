// Votes: the receipts and packs that ranks have written so far for a checkpoint that is not committed yet. A
// process that waits for the commit logs its Votes, so that a user sees which ranks still write and which do
// not.
#pragma once

#include <cstdint>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/disk.h"
#include "agent/src/checkpoint/format/file_names.h"

namespace ratoon::checkpoint {

struct Votes {
  CheckpointId id;
  std::vector<Rank> missing{};           // ranks without a receipt
  std::uint64_t files = 0;               // receipts and packs, also temporary ones
  std::uint64_t unvoted_pack_bytes = 0;  // of packs without a receipt; count_votes() limits their number

  friend bool operator==(const Votes&, const Votes&) = default;
};

[[nodiscard]] Result<Votes> count_votes(const Disk& disk, const CheckpointId& id, std::uint32_t world_size);

}  // namespace ratoon::checkpoint
