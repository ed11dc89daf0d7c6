// Decides which bytes of a pack file are read for a list of copies into memory, and which checksums verify
// these bytes.
#pragma once

#include <span>
#include <vector>

#include "agent/src/checkpoint/pack/header/layout.h"
#include "agent/src/checkpoint/pack/read_plan.h"

namespace ratoon::checkpoint {

// All `copies` must read from this pack. Sorts the ranges of `copies` by the position of their first byte.
[[nodiscard]] std::vector<Extent> make_extents(const PackLayout& layout, std::vector<WantedCopy>& copies,
                                               std::span<const CopyLoop> loops);

}  // namespace ratoon::checkpoint
