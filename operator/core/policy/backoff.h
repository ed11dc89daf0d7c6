// Makes a member pause before its next pod if its program or storage failed, if a node did not start it, or
// if it could not connect to other members. Without pauses, a program that always fails would keep nodes
// busy. A member that was lost for another reason gets no pause.
#pragma once

#include <optional>

#include "operator/core/members/roster.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// Returns the pause after this number of crashes in a row without a training step between them.
[[nodiscard]] Duration pause_after_crashes(const api::RestartPolicy& policy,
                                           std::uint32_t consecutive_crashes);

// If members crashed or pods were rejected, counts one crash for all together and delays their next pods.
void delay_crashed_members(const Observation& seen, bool has_stepped, RosterChange& change);

// While a member waits, stores in the status why its last pod failed to start or had no storage.
void record_kubelet_rejection(const RosterChange& change, api::TrainingJobStatus& status);
// If no member of the job waits any longer, clears the reason that record_kubelet_rejection() stored.
void forget_rejection_if_none_waits(api::TrainingJobStatus& status);

// Clears pauses that have ended, shortens pauses that are longer than any pause may be, and returns when the
// next pause ends.
[[nodiscard]] std::optional<WallTime> end_pauses(const Observation& seen,
                                                 std::vector<api::MemberStatus>& members);

}  // namespace ratoon::core
