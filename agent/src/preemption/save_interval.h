// Computes the interval between saves for --save-every=auto. With a short interval, fewer steps are repeated
// after a loss; with a long interval, saves take less time in total.
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

// Returns the time from the beginning of one save to the beginning of the next save. If processes are lost at
// random, the interval minimises lost training time. save_interval() uses Young and Daly's formula with the
// costs of saves and recovery (arXiv 2410.18124). The interval stays within the bounds, but is never shorter
// than the time until a save is durable. At first, save_interval() assumes one lost process in four hours.
// Observed losses of processes soon have more weight than this assumption.
[[nodiscard]] Duration save_interval(const SaveCosts& costs, const IntervalBounds& bounds = {});

}  // namespace ratoon::preemption
