// Suspended jobs have no pods. A world first saves together, and later the job resumes from that checkpoint.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "operator/core/decision.h"
#include "operator/core/members/roster.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// The end of the wait for a world to save before a suspension: it covers the duration of its saves. There is
// no value until all of its members have sent a message to this operator.
[[nodiscard]] std::optional<WallTime> drain_deadline(const Observation& seen,
                                                     const api::TrainingJobStatus& status);

// Moves each member that has not completed, and in a group each member, to an incarnation without a pod. Pods
// of earlier incarnations are superseded. No member was lost, so no loss is counted.
void release_members(const Observation& seen, std::vector<api::MemberStatus>& members);

// While a world saves before it is given up: the decision that waits for the save, until drain_deadline().
// Nothing: the wait is over, or no world exists.
[[nodiscard]] std::optional<Decision> drain(const Observation& seen, const RosterChange& change,
                                            std::optional<Timestamp> next_check, const std::string& purpose,
                                            api::TrainingJobStatus status);

// No pods are created, and existing pods are deleted once their members have saved. The phase is Suspended
// when the last of them is gone.
[[nodiscard]] Decision suspend(const Observation& seen, const RosterChange& change,
                               std::optional<Timestamp> next_check, api::TrainingJobStatus status);

}  // namespace ratoon::core
