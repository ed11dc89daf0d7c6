#include "agent/src/preemption/save_interval.h"

#include <algorithm>
#include <cmath>

namespace ratoon::preemption {
namespace {

// The loss rate that is assumed at first: a run is treated as if it had already trained for this time with
// this number of losses.
constexpr double kSecondsSeenBefore = 4.0 * 3600;
constexpr double kLossesSeenBefore = 1;
// The interval is longer than a write by this factor, so that a slightly slower write delays no save.
constexpr double kWriteSlack = 1.25;

double positive_seconds(Duration d) {
  return std::max(seconds(d), 0.0);
}

}  // namespace

Duration save_interval(const SaveCosts& costs, const IntervalBounds& bounds) {
  const double stall = positive_seconds(costs.stall);
  const double between_losses = (positive_seconds(costs.observed) + kSecondsSeenBefore) /
                                (static_cast<double>(costs.losses) + kLossesSeenBefore);
  const double lost_time = between_losses + positive_seconds(costs.recovery);
  const double best = stall + std::sqrt(stall * stall + 2 * stall * lost_time);
  const double shortest = std::max(seconds(bounds.min), kWriteSlack * positive_seconds(costs.write));
  // If a write takes longer than the upper bound, the interval also exceeds it, because two writes at once
  // would slow each other down.
  return from_seconds(std::max(shortest, std::min(best, seconds(bounds.max))));
}

}  // namespace ratoon::preemption
