// An extent of a read plan, taken apart: a piece is read, compared with its sums and copied while it is still
// in the processor's cache.
#pragma once

#include <cstdint>

#include "agent/src/checkpoint/pack/layout.h"
#include "agent/src/checkpoint/pack/read_plan.h"

namespace ratoon::checkpoint {

// The piece of `extent` that begins at `begin`, which is where the extent or the piece before it ends. It
// vouches for itself as an extent does, and has `bytes_max` bytes or more only where something that is
// compared as one, a block or a hashed tensor, is longer.
[[nodiscard]] Extent cut_piece(const PackLayout& layout, const PackReads& reads, const Extent& extent,
                               std::uint64_t begin, std::uint64_t bytes_max);

}  // namespace ratoon::checkpoint
