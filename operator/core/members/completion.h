// Which members have completed: a run ends when all members that decide about it have.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "operator/core/observation.h"

namespace ratoon::core {

// Whether all processes of this incarnation reported completion, to this operator or to an earlier one.
[[nodiscard]] bool is_completed(const Observation& seen, const api::MemberStatus& member);

// A bit for each process that reported completion. A new start of a process clears its bit.
[[nodiscard]] std::uint64_t completed_ranks_of(const Observation& seen, const api::MemberStatus& member);

// Whether no step remains: one process has completed, or has reached the end of the run.
[[nodiscard]] bool has_made_last_step(const Observation& seen);

// Records the step at which members completed, from the records of their pods: if their connections were cut,
// no beat reported it, and the pods may be gone when the next world forms.
void note_completed_step(const Observation& seen, api::TrainingJobStatus& status);

// A completion is valid only while the checkpoint of its step can be loaded. If the run resumes from an
// earlier step, this function revokes the completions of all members, which start as fresh incarnations, and
// returns a message about the revocation. The value is empty if no completion was revoked.
[[nodiscard]] std::string revoke_completions(const Observation& seen,
                                             const std::optional<ResumePoint>& resume,
                                             api::TrainingJobStatus& status);

}  // namespace ratoon::core
