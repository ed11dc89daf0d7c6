// Pauses before members whose program failed, whose storage failed, or that a node did not start, are made
// again: what comes at every start must not keep nodes busy. Other disruptions never wait.
#pragma once

#include <optional>

#include "operator/core/observation.h"
#include "operator/core/roster.h"

namespace ratoon::core {

// The pause after so many crashes in a row without a step between them.
[[nodiscard]] Duration pause_after(const api::RestartPolicy& policy, std::uint32_t crashes_in_a_row);

// Counts the crash or the rejection, if there was one, and puts off the next pods of those that it was about.
void put_off_crashed(const Observation& seen, bool has_stepped, RosterChange& change);

// Keeps why the last pod did not start or had no storage, for as long as members wait for their pods.
void note_rejection(const RosterChange& change, api::TrainingJobStatus& status);
// Once no member waits: also where the member that did is no longer of the job.
void forget_rejection_of_none(api::TrainingJobStatus& status);

// Forgets pauses that are over, and tells when the next one will be.
[[nodiscard]] std::optional<WallTime> end_pauses(const Observation& seen,
                                                 std::vector<api::MemberStatus>& members);

}  // namespace ratoon::core
