// Finds members that miss a deadline: a pod runs but its member sends no message, or a world makes no step.
// silence.h has the rules for members that fall silent after their first message. No member counts as late
// before the coordinator has received messages for a while. If a member's first message was already missing
// when the coordinator started, the member gets the time limit for a silence of many members. If a process of
// a world has sent no message to this coordinator, or is silent now, only silence.h applies to its world: the
// world may make steps that it cannot report. When such a process sends its first message, the world gets the
// whole deadline again.
#pragma once

#include <optional>
#include <vector>

#include "operator/core/members/roster.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// Stores since when each member's first message has been missing; returns when the first member will be late.
[[nodiscard]] std::optional<WallTime> note_awaited(const Observation& seen, Timestamp now,
                                                   api::TrainingJobStatus& status);

// Returns members whose pods run but which sent no message within the start deadline.
[[nodiscard]] std::vector<CondemnedMember> find_late_members(const Observation& seen, Timestamp now);

// Returns the members that keep a world from making steps: if some members are in a collective (such as
// all-reduce), the other members, else all members. Together the returned members count as one failure.
[[nodiscard]] std::vector<CondemnedMember> find_stalled_members(const Observation& seen, Timestamp now);

// Returns when the current world will count as stalled unless it makes a step before.
[[nodiscard]] std::optional<WallTime> stalls_at(const Observation& seen, Timestamp now,
                                                const api::TrainingJobStatus& status);

}  // namespace ratoon::core
