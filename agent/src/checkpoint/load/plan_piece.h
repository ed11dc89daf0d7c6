// Splits an extent (a contiguous range of a pack file that is read at once) into smaller pieces. A piece is
// read, then verified by its checksums and copied while it is still in the processor's cache.
#pragma once

#include <cstdint>

#include "agent/src/checkpoint/pack/header/layout.h"
#include "agent/src/checkpoint/pack/read_plan.h"

namespace ratoon::checkpoint {

// Returns the piece of `extent` that begins at `begin`, which is the beginning of the extent or the end of
// the previous piece. A hashed tensor is a tensor that is verified by its hash and not by the checksums of
// blocks. A piece contains whole blocks or whole hashed tensors, so that a piece can be verified by itself. A
// piece exceeds `bytes_max` bytes only if it is one block or one hashed tensor of more than `bytes_max`
// bytes.
[[nodiscard]] Extent cut_piece(const PackLayout& layout, const PackReads& reads, const Extent& extent,
                               std::uint64_t begin, std::uint64_t bytes_max);

}  // namespace ratoon::checkpoint
