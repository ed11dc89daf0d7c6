// Elastic jobs: decides when the next world is formed without missing members, and when a world ends because
// members came back. A role may have more than numNodes members (up to maxReplicas); as soon as numNodes of
// them are ready, a world is formed without waiting for more. The job's status marks members without which a
// world was formed (is_absent), so that a later leader of the operator knows them.
#pragma once

#include <optional>
#include <vector>

#include "operator/core/observation.h"

namespace ratoon::core {

// The members of the next world.
struct NextWorldMembers {
  std::vector<api::MemberStatus> members;  // the roster, with is_absent for the next world
  std::optional<WallTime> fewer_at;        // when the wait for the last missing member ends
  // When the wait for the first missing member ends; even then too few members may be ready.
  std::optional<WallTime> next_at;
};

// Returns all members. Marks a member that is not ready as absent if the last world was formed without it, or
// if numNodes members of its role are ready, or after the wait for missing members: shrinkAfterSeconds since
// `waiting_since`, and before the first world also growCooldownSeconds. A world has at least minReplicas
// members of each role, and all members of a role with `replicas`.
[[nodiscard]] NextWorldMembers pick_next_world_members(const Observation& seen,
                                                       const std::vector<api::MemberStatus>& members,
                                                       WallTime waiting_since);

// Says whether and when the current world must end so that a larger world can be formed.
struct GrowthPlan {
  bool is_due = false;
  std::optional<WallTime> due_at;  // a member is ready for it and waits for the cooldown
};
[[nodiscard]] GrowthPlan find_growth(const Observation& seen, const api::TrainingJobStatus& status);

// Returns how many members the world lacks compared with the numbers in the job's spec.
[[nodiscard]] std::uint32_t count_missing(const api::TrainingJobSpec& spec,
                                          const std::vector<api::MemberStatus>& members);

// Returns whether the job needs this pod, for which no node has room. A role that has numNodes members on
// nodes can use more members, but does not need them.
[[nodiscard]] bool is_pod_needed(const Observation& seen, const std::vector<api::MemberStatus>& members,
                                 const api::Pod& pod);

}  // namespace ratoon::core
