// The members of a job without the agent library form one group. Members without the library send no
// messages, so the operator knows only their pods and nodes. Each member received its rank and the world's
// size at its start, so no member can be replaced alone: if one member is lost, the operator replaces all
// members.
#pragma once

#include <optional>
#include <vector>

#include "operator/core/decision.h"
#include "operator/core/members/roster.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// Returns the ranks and the address of rank 0, which the member's pod gets in its environment. Returns
// nothing while the first member's pod has no IP address, which all other members need, or while programs of
// the previous group may run. An IP address, unlike a DNS name, needs no resolver, and no stale DNS cache can
// lead to the previous group.
[[nodiscard]] std::optional<api::GroupRankAssignment> find_group_rank_assignment(
    const Observation& seen, const std::vector<api::MemberStatus>& members, const api::MemberStatus& member);

// Returns a pod of the previous group whose program may still run, or null. A program without the agent
// cannot be kept from writing, and two groups would overwrite each other's files. Ignores pods on lost nodes,
// and pods that still exist long after their grace period.
[[nodiscard]] const api::Pod* find_previous_group_pod(const Observation& seen,
                                                      const std::vector<api::MemberStatus>& members);
// Returns until when a new group waits for a pod of the previous group. Returns nothing if the new group
// runs, no such pod exists, or the pod is not being deleted.
[[nodiscard]] std::optional<WallTime> previous_group_deadline(const Observation& seen,
                                                              const api::TrainingJobStatus& status);

// Returns whether the program in this pod has completed its work. If the pod or its node ends, a program may
// exit with 0 although its work is not complete; has_program_completed() then returns false.
[[nodiscard]] bool has_program_completed(const Observation& seen, const api::Pod& pod);

// Returns whether the pod whose address the other members use for rank 0 is gone. This pod may have vanished
// before its UID was stored, and another pod may have its name now.
[[nodiscard]] bool has_lost_rank0_pod(const Observation& seen);

// Returns whether a member of the group was lost by a cause outside of the program. The function reads all
// pods, so call it once per decision and not once per member.
[[nodiscard]] bool is_any_member_disrupted(const Observation& seen);

// Returns the cause that the operator records for the end of a member. If another member was lost by a cause
// outside of the program (`is_one_disrupted`), a failure counts as a consequence of that loss. Several
// failures at the same time count as one failure.
[[nodiscard]] MemberEnd classify_in_group(bool is_one_disrupted, MemberEnd ending);

// Returns when a failure may be classified, or nothing if the operator may classify it now. The operator
// waits because the failure may follow from the loss of another member, which Kubernetes may report later.
[[nodiscard]] std::optional<WallTime> find_classification_time(const Observation& seen, bool is_one_disrupted,
                                                               const api::Pod& pod);
// Returns the earliest time at which a failed pod of the group may be classified
// (find_classification_time()).
[[nodiscard]] std::optional<WallTime> next_classification_time(const Observation& seen);

// After the loss of one member, gives all members a new incarnation. Completed members get one, too, because
// a new member waits for all others. If one member must pause before its next pod, all members pause.
void restart_group(const Observation& seen, RosterChange& change);

// Returns whether all members of the group have run together long enough to prove that the program can start.
[[nodiscard]] bool has_group_run_stably(const Observation& seen);

}  // namespace ratoon::core
