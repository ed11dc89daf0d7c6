// Finds members that miss a deadline: a pod runs but its member sends no message, or a world makes no step.
// silence.h has the rules for members that fall silent after their first message. No world counts as stalled
// before the coordinator has received messages for the whole limit of silence (silence.h). If a member's
// first message was already missing when the coordinator started, the member gets the longer time limit that
// applies when many members are silent (silence.h). If a process of a world is silent or has sent no message
// to this coordinator, only silence.h applies to its world, because the world may make steps that it cannot
// report. When a process sends its first message to this coordinator, the deadline of the world begins again.
#pragma once

#include <optional>
#include <vector>

#include "operator/core/members/roster.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// Stores since when each member's first message has been missing; returns when the first member will be late.
[[nodiscard]] std::optional<WallTime> record_first_message_waits(const Observation& seen, Timestamp now,
                                                                 api::TrainingJobStatus& status);

// Returns members whose pods run but which sent no message within the start deadline.
[[nodiscard]] std::vector<MemberToReplace> find_late_members(const Observation& seen, Timestamp now);

// Returns the members that keep a world from making steps: if some members wait in a collective (such as
// all-reduce), the other members; otherwise all members. Together the returned members count as one failure.
[[nodiscard]] std::vector<MemberToReplace> find_stalled_members(const Observation& seen, Timestamp now);

// Returns when the current world will count as stalled if it makes no step until then.
[[nodiscard]] std::optional<WallTime> stall_deadline(const Observation& seen, Timestamp now,
                                                     const api::TrainingJobStatus& status);

}  // namespace ratoon::core
