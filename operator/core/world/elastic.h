// Elastic jobs: decides when the next world is formed without missing members, and when a world ends because
// members came back. A role may have up to maxReplicas members. As soon as numNodes of them are ready, the
// operator forms a world without waiting for the other members of the role. The job's status marks as absent
// (is_absent) each member without which the world was formed, so that the next leading operator knows the
// absent members.
#pragma once

#include <optional>
#include <vector>

#include "operator/core/observation.h"

namespace ratoon::core {

// The members of the next world.
struct NextWorldMembers {
  std::vector<api::MemberStatus> members;     // the roster, with is_absent for the next world
  std::optional<WallTime> last_wait_ends_at;  // when the wait for the last missing member ends
  // The earliest time at which the wait for a missing member ends, even if too few members are ready then.
  std::optional<WallTime> next_wait_ends_at;
};

// Returns all members. Marks a member that is not ready as absent in three cases: the last world was formed
// without the member, numNodes members of its role are ready, or the wait for missing members is over. The
// wait ends shrinkAfterSeconds after `world_awaited_since`. Before the first world, the wait is longer by
// growCooldownSeconds. An operator that began to receive messages at `seen.listening_since` waits for a
// running member of an earlier world at least suspectAfterSeconds from then on. A world has at least
// minReplicas members of each role, and all members of a role with `replicas`.
[[nodiscard]] NextWorldMembers pick_next_world_members(const Observation& seen,
                                                       const std::vector<api::MemberStatus>& members,
                                                       WallTime world_awaited_since, Timestamp now);

// Says whether and when the current world must end so that a larger world can be formed.
struct GrowthPlan {
  bool is_due = false;
  std::optional<WallTime> due_at;  // a member is ready for it and waits for the cooldown
};
[[nodiscard]] GrowthPlan find_growth(const Observation& seen, const api::TrainingJobStatus& status);

// Returns the number of members that the job's spec requests and the world lacks.
[[nodiscard]] std::uint32_t count_missing(const api::TrainingJobSpec& spec,
                                          const std::vector<api::MemberStatus>& members);

// Returns whether the job needs this pod, for which no node has room. A role that has numNodes members on
// nodes can use more members, but does not need them.
[[nodiscard]] bool is_pod_needed(const Observation& seen, const std::vector<api::MemberStatus>& members,
                                 const api::Pod& pod);

// Returns how many processes have not reported their checkpoints yet, because they do not wait for the next
// world. Counts processes of absent members, too. Omits a member that has no node and that the job does not
// need (see is_pod_needed()), because such a member may never get a node.
[[nodiscard]] std::size_t count_unreported_processes(const Observation& seen,
                                                     const std::vector<api::MemberStatus>& members);

}  // namespace ratoon::core
