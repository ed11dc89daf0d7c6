// Checks whether the packs of a checkpoint hold every element of its tensors. A checkpoint may be committed
// only if its packs hold every element.
#pragma once

#include <ratoon/result.h>

#include "agent/src/checkpoint/pack/part_index.h"

namespace ratoon::checkpoint {

// Succeeds if every element of every tensor is in exactly one part, or in several parts that are copies of
// each other. The error names the tensor, its first missing or doubled element, and the packs.
// The check takes time in O(n log n) for n parts.
[[nodiscard]] Result<void> check_cover(const PartIndex& index);

// Checks the elements of one tensor whose index is at least `begin` and less than `end` in every dimension.
[[nodiscard]] Result<void> check_cover(const PartIndex& index, const IndexedTensor& tensor,
                                       std::span<const std::uint64_t> begin,
                                       std::span<const std::uint64_t> end);

}  // namespace ratoon::checkpoint
