// A suspended job has no pods. All ranks first save a checkpoint, and the job later resumes from this
// checkpoint.
#pragma once

#include <cstdint>
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

// While the job is to be suspended, gives the roles of `seen` the agent with which the existing pods were
// made. A user may change `agent` in the patch that suspends the job. The existing pods save and end by the
// rules of their own agent.
void keep_agent_until_suspended(Observation& seen);

// Returns whether the job was suspended and has formed no world since then. A user may have changed the
// roles while it was suspended.
[[nodiscard]] bool has_no_world_since_suspension(const api::TrainingJobStatus& status);

// Returns the number of processes of each member in the world that still trains, if the job is to be
// suspended and this number is known. A user may change processesPerNode in the patch that suspends the job;
// the members save in the old number.
[[nodiscard]] std::optional<std::uint32_t> processes_per_member_until_suspended(const Observation& seen);

}  // namespace ratoon::core
