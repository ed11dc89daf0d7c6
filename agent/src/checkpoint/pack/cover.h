// Whether a checkpoint is whole: a commit needs it, and nobody else can tell.
#pragma once

#include <ratoon/result.h>

#include "agent/src/checkpoint/pack/part_index.h"

namespace ratoon::checkpoint {

// Every element of every tensor is in exactly one part, or in several that are copies of each other. The
// error names the tensor, its first element that is missing or doubled, and the packs. O(n log n) in the
// parts.
[[nodiscard]] Result<void> check_cover(const PartIndex& index);

// The same of one tensor between `begin` and `end`.
[[nodiscard]] Result<void> check_cover(const PartIndex& index, const IndexedTensor& tensor,
                                       std::span<const std::uint64_t> begin,
                                       std::span<const std::uint64_t> end);

}  // namespace ratoon::checkpoint
