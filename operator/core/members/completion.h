// Finds out which members have completed: a run ends when all members that decide about it have completed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "operator/core/observation.h"

namespace ratoon::core {

// Returns whether all processes of this incarnation reported completion to this operator or an earlier one.
[[nodiscard]] bool is_completed(const Observation& seen, const api::MemberStatus& member);

// Returns a bit for each local rank that reported completion; a new start of a process clears its bit.
[[nodiscard]] std::uint64_t completed_ranks_of(const Observation& seen, const api::MemberStatus& member);

// Returns whether no step remains, because one process has completed or has reached the end of the run.
[[nodiscard]] bool has_made_last_step(const Observation& seen);

// Stores the step at which members completed, from the completion records of their pods. Call
// record_completed_step() in every decision: a member that lost its connection did not report its last step,
// and its pod, which has the completion record, may be gone when the next world forms.
void record_completed_step(const Observation& seen, api::TrainingJobStatus& status);

// A completion is valid only while the checkpoint of the last step can be loaded. If the run has to resume
// from an earlier step, this function revokes all completions: the members start again as new incarnations.
// Returns a message for users, or an empty text if no completion was revoked.
[[nodiscard]] std::string revoke_completions(const Observation& seen,
                                             const std::optional<ResumePoint>& resume,
                                             api::TrainingJobStatus& status);

}  // namespace ratoon::core
