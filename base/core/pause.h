// Waits that end on a stop request or at the caller's deadline.
#pragma once

#include <algorithm>
#include <chrono>
#include <stop_token>

#include "base/core/clock.h"

namespace ratoon {

// Limits a duration to one year: an endless duration added to the current time would overflow into the past.
[[nodiscard]] constexpr Duration waitable(Duration at_most) {
  return std::min<Duration>(at_most, std::chrono::hours(24 * 365));
}

// Returns whether the whole time passed without a stop request.
[[nodiscard]] bool pause_for(Duration time, const std::stop_token& stop);

}  // namespace ratoon
