// How long saves take, by what members say; and how long a world that saves before it goes is waited for.
#pragma once

#include <optional>

#include "operator/core/observation.h"

namespace ratoon::core {

// The longest of the last saves of those that speak; nothing: none of them has saved yet.
[[nodiscard]] std::optional<Duration> longest_save(const Observation& seen);

// How long a world is waited for that was told to save: a save that is under way ends first.
[[nodiscard]] Duration patience_with_save(const Observation& seen);

// Whether a save now leaves enough time for another one before `end`. Where no save was measured, it is
// tried.
[[nodiscard]] bool has_time_for_two_saves(const Observation& seen, std::optional<WallTime> end);

}  // namespace ratoon::core
