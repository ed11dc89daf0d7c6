// Hangs: processes that live, beat, and stand in one phase for longer than they said is usual for them.
//
// Whoever waits in a collective is a victim. To blame is who overstays a phase outside of it; where nobody is
// outside, who is in the collective of an earlier step; where that is nobody either, the world is given up
// and all of its members stay. Each hang that was found doubles the patience with the next: where they were
// none, because the program does long work that it does not announce, the training gets past it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "operator/core/observation.h"
#include "operator/core/roster.h"

namespace ratoon::core {

struct Hang {
  std::vector<Verdict> culprits;        // one hang, whatever their number
  std::string of_world;                 // not empty: all wait for each other, and since when
  std::optional<Timestamp> next_check;  // when somebody may be found to hang who does not yet
};

[[nodiscard]] Hang find_hang(const Observation& seen, Timestamp now);

}  // namespace ratoon::core
