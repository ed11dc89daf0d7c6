// Members that are lost by the clock: their pods run, and they never speak; their world stands, and it makes
// no step. Silence, which comes after speech, is judged in silence.h. As there, nothing is concluded until
// the coordinator has itself listened: before that no member could speak to it, and no step could be told. A
// member that was awaited before the coordinator listened has as long as the silence of many may last. A
// world of which some process was not heard yet is left to silence.h, and one that was heard has the whole
// deadline from its first word on.
#pragma once

#include <optional>
#include <vector>

#include "operator/core/observation.h"
#include "operator/core/roster.h"

namespace ratoon::core {

// Notes since when members are awaited, and tells when the first of them is late.
[[nodiscard]] std::optional<WallTime> note_awaited(const Observation& seen, Timestamp now,
                                                   api::TrainingJobStatus& status);

// Members that did not speak in time after their start.
[[nodiscard]] std::vector<Verdict> find_late(const Observation& seen, Timestamp now);

// The members that hold up a world which makes no step: those that are not in the collective, where others
// are, else all. It counts as one failure of the program, whatever their number.
[[nodiscard]] std::vector<Verdict> find_stalled(const Observation& seen, Timestamp now);

// When a world that stands has stalled, if it makes no step until then.
[[nodiscard]] std::optional<WallTime> stalls_at(const Observation& seen, Timestamp now,
                                                const api::TrainingJobStatus& status);

}  // namespace ratoon::core
