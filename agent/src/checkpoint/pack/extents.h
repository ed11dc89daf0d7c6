// Decides which bytes of a pack file must be read to make the wanted copies in memory, and which checksums
// verify these bytes.
#pragma once

#include <span>
#include <vector>

#include "agent/src/checkpoint/pack/header/layout.h"
#include "agent/src/checkpoint/pack/read_plan.h"

namespace ratoon::checkpoint {

// All `copies` must read from one pack. Sorts `copies` by the position of their first byte in the pack.
[[nodiscard]] std::vector<Extent> make_extents(const PackLayout& layout, std::vector<WantedCopy>& copies,
                                               std::span<const CopyLoop> loops);

}  // namespace ratoon::checkpoint
