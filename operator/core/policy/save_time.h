// The duration of saves, from the members' beats, and how long to wait for a world that saves before it ends.
#pragma once

#include <optional>

#include "operator/core/observation.h"

namespace ratoon::core {

// The longest of the last saves of the known processes; nothing: no process has saved yet.
[[nodiscard]] std::optional<Duration> longest_save(const Observation& seen);

// How long to wait for a world that was asked to save. The time covers two saves: the world ends a save that
// is in progress before it begins the save that was asked for.
[[nodiscard]] Duration save_timeout(const Observation& seen);

// Whether a save that begins now leaves enough time for another save before `end`. The result is also true if
// no save was measured.
[[nodiscard]] bool has_time_for_two_saves(const Observation& seen, std::optional<WallTime> end);

}  // namespace ratoon::core
