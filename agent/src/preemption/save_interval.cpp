#include "agent/src/preemption/save_interval.h"

#include <algorithm>
#include <cmath>

namespace ratoon::preemption {
namespace {

// save_interval() adds kPriorObservedSeconds to the observed time, and kPriorLosses to the observed losses,
// so that a new run has a rate of losses, too.
constexpr double kPriorObservedSeconds = 4.0 * 3600;
constexpr double kPriorLosses = 1;
// The interval is longer than a write by the factor kWriteTimeFactor, so that a slightly slower write delays
// no save.
constexpr double kWriteTimeFactor = 1.25;

double positive_seconds(Duration d) {
  return std::max(seconds(d), 0.0);
}

}  // namespace

Duration save_interval(const SaveCosts& costs, const IntervalBounds& bounds) {
  const double stall = positive_seconds(costs.stall);
  const double between_losses = (positive_seconds(costs.observed) + kPriorObservedSeconds) /
                                (static_cast<double>(costs.losses) + kPriorLosses);
  const double lost_time = between_losses + positive_seconds(costs.recovery);
  const double best = stall + std::sqrt(stall * stall + 2 * stall * lost_time);
  const double shortest = std::max(seconds(bounds.min), kWriteTimeFactor * positive_seconds(costs.write));
  // If a write takes longer than the upper bound, the interval exceeds this bound, because two writes at once
  // would slow each other down.
  return from_seconds(std::max(shortest, std::min(best, seconds(bounds.max))));
}

}  // namespace ratoon::preemption
