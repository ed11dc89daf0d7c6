// When to look again: every policy names its moment, and the earliest counts.
#pragma once

#include <optional>

#include "operator/core/decision.h"

namespace ratoon::core {

[[nodiscard]] std::optional<Timestamp> earlier(std::optional<Timestamp> a, std::optional<Timestamp> b);

// At that moment or before; at once where it has passed. No moment asks for nothing.
void wake_by(std::optional<WallTime> moment, WallTime wall_now, Timestamp now, Decision& decision);

}  // namespace ratoon::core
