// A suspended job has no pods. All ranks first save a checkpoint, and the job later resumes from this
// checkpoint.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "operator/core/decision.h"
#include "operator/core/members/roster.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// Returns until when a suspension waits for the world's last save, estimated from earlier saves. Returns
// nothing until all members of the world have sent a message to this operator.
[[nodiscard]] std::optional<WallTime> drain_deadline(const Observation& seen,
                                                     const api::TrainingJobStatus& status);

// Gives each member that has not completed a new incarnation without a pod, which supersedes the existing
// pods. If the job's programs report no steps, members that have completed also get a new incarnation. A
// member whose pod ends because of a suspension does not count as lost.
void release_members(const Observation& seen, std::vector<api::MemberStatus>& members);

// Ends the decision's world, gives its members new incarnations without pods, and deletes all pods of the
// job. `reason` is the reason of the deletions.
void free_nodes(const Observation& seen, const std::string& reason, Decision& decision);

// Asks the world to save before it ends. Returns a decision that waits until drain_deadline() for the save,
// or nothing if the wait is over or no world trains.
[[nodiscard]] std::optional<Decision> drain(const Observation& seen, const RosterChange& change,
                                            std::optional<Timestamp> next_check, const std::string& purpose,
                                            api::TrainingJobStatus status);

// Returns the decision for a suspended job: it creates no pods, and deletes the existing pods after their
// members have saved. The phase becomes Suspended when the last pod has gone.
[[nodiscard]] Decision suspend(const Observation& seen, const RosterChange& change,
                               std::optional<Timestamp> next_check, api::TrainingJobStatus status);

}  // namespace ratoon::core
