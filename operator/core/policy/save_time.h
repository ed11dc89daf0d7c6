// Estimates from the members' heartbeats how long a save takes, and how long to wait for a last save of a
// world.
#pragma once

#include <optional>

#include "operator/core/observation.h"

namespace ratoon::core {

// Returns the duration of the longest save among the last saves of all processes, or nothing if no process
// has saved yet.
[[nodiscard]] std::optional<Duration> longest_save_duration(const Observation& seen);

// Returns how long to wait for the save that a world was asked to make: the time of two saves, because the
// world may first have to finish an earlier save.
[[nodiscard]] Duration save_timeout(const Observation& seen);

// Returns whether a save that begins now leaves enough time for a second save before `end`. Returns true if
// no save was measured yet.
[[nodiscard]] bool has_time_for_two_saves(const Observation& seen, std::optional<WallTime> end);

}  // namespace ratoon::core
