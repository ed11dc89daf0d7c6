// Pauses before a member is created again after its program failed, its storage failed, a node did not start
// it, or it could not connect to others: a failure at every start must not keep nodes busy. Other disruptions
// cause no pause.
#pragma once

#include <optional>

#include "operator/core/members/roster.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// The pause after this number of crashes in a row without a step between them.
[[nodiscard]] Duration pause_after(const api::RestartPolicy& policy, std::uint32_t crashes_in_a_row);

// Counts the crash or the rejection, if there was one, and delays the next pods of its members.
void delay_crashed_members(const Observation& seen, bool has_stepped, RosterChange& change);

// Stores why the last pod did not start or had no storage, while members wait for their pods.
void note_rejection(const RosterChange& change, api::TrainingJobStatus& status);
// Clears the stored reason once no member waits, including when the member that waited has left the job.
void forget_rejection_if_none_waits(api::TrainingJobStatus& status);

// Clears pauses that have ended, and returns the end of the next one.
[[nodiscard]] std::optional<WallTime> end_pauses(const Observation& seen,
                                                 std::vector<api::MemberStatus>& members);

}  // namespace ratoon::core
