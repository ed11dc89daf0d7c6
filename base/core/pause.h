// Waits that end by a stop request, or by a deadline that a caller chose.
#pragma once

#include <algorithm>
#include <chrono>
#include <stop_token>

#include "base/core/clock.h"

namespace ratoon {

// A year where it is more: "for ever" added to what a clock shows now would be in the past.
[[nodiscard]] constexpr Duration waitable(Duration at_most) {
  return std::min<Duration>(at_most, std::chrono::hours(24 * 365));
}

// Whether all of it passed.
[[nodiscard]] bool pause_for(Duration time, const std::stop_token& stop);

}  // namespace ratoon
