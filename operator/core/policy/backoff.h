// Pauses before a member's pod is created again, if its program or storage failed, a node did not start it,
// or it could not connect to other members. Without pauses, a failure at every start would keep nodes busy. A
// member that was lost for any other reason gets no pause.
#pragma once

#include <optional>

#include "operator/core/members/roster.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// Returns the pause after this number of crashes in a row without a training step between them.
[[nodiscard]] Duration pause_after(const api::RestartPolicy& policy, std::uint32_t crashes_in_a_row);

// If there were crashes or rejected pods, counts them as one crash and delays these members' next pods.
void delay_crashed_members(const Observation& seen, bool has_stepped, RosterChange& change);

// Stores in the status why a member's last pod failed to start or had no storage, while the member waits.
void note_rejection(const RosterChange& change, api::TrainingJobStatus& status);
// Clears the reason that note_rejection() stored once no member of the job waits any longer.
void forget_rejection_if_none_waits(api::TrainingJobStatus& status);

// Clears pauses that have ended, and returns when the next pause ends.
[[nodiscard]] std::optional<WallTime> end_pauses(const Observation& seen,
                                                 std::vector<api::MemberStatus>& members);

}  // namespace ratoon::core
