// The time of the next decision: every policy names a time, and the earliest one counts.
#pragma once

#include <algorithm>
#include <optional>

#include "operator/core/decision.h"

namespace ratoon::core {

// The earlier of two moments, each of which may be absent.
template <class Moment>
[[nodiscard]] std::optional<Moment> earlier(std::optional<Moment> a, std::optional<Moment> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

// Lowers `wake_at` to this time, or to now if it has passed. An absent time changes nothing.
void wake_no_later_than(std::optional<WallTime> moment, WallTime wall_now, Timestamp now, Decision& decision);

}  // namespace ratoon::core
