// Waiting functions that return on a stop request or at the caller's deadline.
#pragma once

#include <algorithm>
#include <chrono>
#include <stop_token>

#include "base/core/clock.h"

namespace ratoon {

// Limits a duration to one year, so that the sum of the current time and the result does not overflow.
[[nodiscard]] constexpr Duration limit_to_one_year(Duration at_most) {
  return std::min<Duration>(at_most, std::chrono::hours(24 * 365));
}

// Waits for `time`; returns false as soon as a stop is requested, otherwise true after the whole time.
[[nodiscard]] bool pause_for(Duration time, const std::stop_token& stop);

}  // namespace ratoon
