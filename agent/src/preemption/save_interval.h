// Computes the interval between saves if the user sets none: short enough that a loss costs little, and long
// enough that saving costs little.
#pragma once

#include <cstdint>

#include "base/core/clock.h"

namespace ratoon::preemption {

struct SaveCosts {
  Duration stall{0};         // what a save takes from the training, its share of slower steps included
  Duration write{0};         // until the save is durable; the next one waits for that
  Duration recovery{0};      // from a loss to the next step
  std::uint64_t losses = 0;  // of the whole world, without notice; a loss with notice repeats no step
  Duration observed{0};      // the time in which the losses were counted
};

struct IntervalBounds {
  Duration min = std::chrono::seconds(10);
  Duration max = std::chrono::minutes(30);
};

// Returns the time from the begin of a save to the begin of the next save. This interval gives the most
// useful training time if losses come at random (Young and Daly's formula, with the save itself and the
// recovery counted, arXiv 2410.18124). The interval stays within the bounds, and is never so short that a
// save would begin before the previous one is durable. A run with few observations assumes one loss in four
// hours; its own observations soon count more than the assumption.
[[nodiscard]] Duration save_interval(const SaveCosts& costs, const IntervalBounds& bounds = {});

}  // namespace ratoon::preemption
