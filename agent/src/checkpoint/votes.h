// What ranks have written so far of a checkpoint that is not committed: for the sentence of who waits for it,
// and to tell ranks that write from ranks that do not.
#pragma once

#include <cstdint>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/disk.h"
#include "agent/src/checkpoint/file_names.h"

namespace ratoon::checkpoint {

struct Votes {
  CheckpointId id;
  std::vector<Rank> missing{};    // without a receipt
  std::uint64_t files = 0;        // receipts, packs, and those that are being written
  std::uint64_t bytes_begun = 0;  // of packs without a receipt, as far as they are looked at

  friend bool operator==(const Votes&, const Votes&) = default;
};

[[nodiscard]] Result<Votes> look_at_votes(const Disk& disk, const CheckpointId& id, std::uint32_t world_size);

}  // namespace ratoon::checkpoint
