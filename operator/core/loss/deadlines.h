// Members that are lost by a deadline: their pods run and they send no message, or their world makes no step.
// Members that fall silent after messages are judged in silence.h. As in silence.h, no member is judged until
// the coordinator has itself listened: before that it could receive neither messages nor steps. A member that
// was already awaited when the coordinator began to listen has as much time as a mass silence may last. A
// world with a process that has sent no message to this coordinator, or is silent now, is judged in
// silence.h: it may make steps that cannot be reported. The whole deadline runs from the first message of the
// process.
#pragma once

#include <optional>
#include <vector>

#include "operator/core/members/roster.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// Records since when members are awaited, and returns when the first of them is late.
[[nodiscard]] std::optional<WallTime> note_awaited(const Observation& seen, Timestamp now,
                                                   api::TrainingJobStatus& status);

// Returns the members that sent no message in time after their start.
[[nodiscard]] std::vector<CondemnedMember> find_late_members(const Observation& seen, Timestamp now);

// Returns the members that hold up a world without steps: those outside of the collective if others are in
// it, else all. Together these members count as one failure of the program.
[[nodiscard]] std::vector<CondemnedMember> find_stalled_members(const Observation& seen, Timestamp now);

// The time at which the present world counts as stalled if it makes no step until then.
[[nodiscard]] std::optional<WallTime> stalls_at(const Observation& seen, Timestamp now,
                                                const api::TrainingJobStatus& status);

}  // namespace ratoon::core
