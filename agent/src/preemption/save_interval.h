// How often to save when nobody says: often enough that a loss costs little, seldom enough that saving does.
#pragma once

#include <cstdint>

#include "base/core/clock.h"

namespace ratoon::preemption {

struct SaveCosts {
  Duration stall{0};     // what a save takes from the training, its share of slower steps included
  Duration write{0};     // until it is durable; the next one waits for that
  Duration recovery{0};  // from a loss to the next step
  std::uint64_t losses =
      0;                 // of the whole world, without notice: after those with notice nothing is repeated
  Duration observed{0};  // in which they were counted
};

struct IntervalBounds {
  Duration min = std::chrono::seconds(10);
  Duration max = std::chrono::minutes(30);
};

// From the beginning of a save to that of the next. The one with the most useful time under losses that come
// at random (Young and Daly's, with the save itself and the recovery counted, arXiv 2410.18124), within the
// bounds, and never so short that a save would begin before the one before it is durable. A run that has seen
// little is taken to lose something every four hours; what it sees outweighs that soon.
[[nodiscard]] Duration save_interval(const SaveCosts& costs, const IntervalBounds& bounds = {});

}  // namespace ratoon::preemption
