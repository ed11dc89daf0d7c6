// When to look again: every policy names its moment, and the earliest counts.
#pragma once

#include <algorithm>
#include <optional>

#include "operator/core/decision.h"

namespace ratoon::core {

// Of two moments that may never come.
template <class Moment>
[[nodiscard]] std::optional<Moment> earlier(std::optional<Moment> a, std::optional<Moment> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

// At that moment or before; at once where it has passed. No moment asks for nothing.
void wake_by(std::optional<WallTime> moment, WallTime wall_now, Timestamp now, Decision& decision);

}  // namespace ratoon::core
