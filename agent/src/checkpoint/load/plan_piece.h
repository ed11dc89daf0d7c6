// Splits an extent of a read plan into pieces. A piece is read, then verified by its checksums and copied
// while it is still in the processor's cache.
#pragma once

#include <cstdint>

#include "agent/src/checkpoint/pack/header/layout.h"
#include "agent/src/checkpoint/pack/read_plan.h"

namespace ratoon::checkpoint {

// Returns the piece of `extent` from `begin` on: from the extent's beginning or the previous piece's end.
// Like an extent, a piece can be verified by itself. A piece is longer than `bytes_max` only if a block or a
// hashed tensor, which must be verified as a whole, is longer.
[[nodiscard]] Extent cut_piece(const PackLayout& layout, const PackReads& reads, const Extent& extent,
                               std::uint64_t begin, std::uint64_t bytes_max);

}  // namespace ratoon::checkpoint
