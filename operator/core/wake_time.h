// Computes when the next decision is due: every policy names a time, and the earliest one counts.
#pragma once

#include <algorithm>
#include <optional>

#include "operator/core/decision.h"

namespace ratoon::core {

// Returns the earlier of two times, each of which may be absent.
template <class Moment>
[[nodiscard]] std::optional<Moment> earlier(std::optional<Moment> a, std::optional<Moment> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

// Lowers the decision's `wake_at` to `moment`, or to now if it has passed. If `moment` is absent, leaves
// `wake_at` unchanged.
void wake_no_later_than(std::optional<WallTime> moment, WallTime wall_now, Timestamp now, Decision& decision);

}  // namespace ratoon::core
