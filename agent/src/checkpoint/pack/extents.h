// Which bytes of a pack are read for a list of copies, and what vouches for them.
#pragma once

#include <span>
#include <vector>

#include "agent/src/checkpoint/pack/layout.h"
#include "agent/src/checkpoint/pack/read_plan.h"

namespace ratoon::checkpoint {

// Sorts the copies by where they begin. All of them are of this pack.
[[nodiscard]] std::vector<Extent> make_extents(const PackLayout& layout, std::vector<WantedCopy>& copies,
                                               std::span<const CopyLoop> loops);

}  // namespace ratoon::checkpoint
