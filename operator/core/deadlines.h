// Members that are lost by the clock: their pods run, and they never speak; their world stands, and it makes
// no step. Silence, which comes after speech, is judged in silence.h.
#pragma once

#include <optional>
#include <vector>

#include "operator/core/observation.h"
#include "operator/core/roster.h"

namespace ratoon::core {

// Notes since when members are awaited, and tells when the first of them is late.
[[nodiscard]] std::optional<WallTime> note_awaited(const Observation& seen, api::TrainingJobStatus& status);

// Members that did not speak in time after their start.
[[nodiscard]] std::vector<Verdict> find_late(const Observation& seen);

// The members that hold up a world which makes no step: those that are not in the collective, where others
// are, else all. It counts as one failure of the program, whatever their number.
[[nodiscard]] std::vector<Verdict> find_stalled(const Observation& seen);

// When a world that stands has stalled, if it makes no step until then.
[[nodiscard]] std::optional<WallTime> stalls_at(const api::TrainingJobSpec& spec,
                                                const api::TrainingJobStatus& status);

}  // namespace ratoon::core
