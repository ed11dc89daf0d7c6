// Elastic jobs: when the next world is formed without missing members, and when it is given up for members
// that came back. A role of numNodes may have more members than that (maxReplicas); any numNodes of them form
// a world without a wait for more. The status records members that a world was formed without (is_absent),
// for the next operator.
#pragma once

#include <optional>
#include <vector>

#include "operator/core/observation.h"

namespace ratoon::core {

// The members of the next world.
struct NextWorldMembers {
  std::vector<api::MemberStatus> members;  // the roster, with is_absent for the next world
  std::optional<WallTime> fewer_at;        // when the wait for the last missing member ends
  // The time at which the first wait for a missing member ends; perhaps too few members are ready then.
  std::optional<WallTime> next_at;
};

// All members, except those that are not ready and are no longer waited for: the last world did without them
// already, or shrinkAfterSeconds have passed since `waiting_since` (before the first world
// growCooldownSeconds as well), or numNodes members of the role are ready. A world has at least minReplicas
// of each role, and all members of a role with `replicas`.
[[nodiscard]] NextWorldMembers pick_next_world_members(const Observation& seen,
                                                       const std::vector<api::MemberStatus>& members,
                                                       WallTime waiting_since);

// Whether the present world has to hand over to a larger one.
struct GrowthPlan {
  bool is_due = false;
  std::optional<WallTime> due_at;  // a member is ready for it and waits for the cooldown
};
[[nodiscard]] GrowthPlan find_growth(const Observation& seen, const api::TrainingJobStatus& status);

// How many fewer members the world has than the job asks for.
[[nodiscard]] std::uint32_t count_missing(const api::TrainingJobSpec& spec,
                                          const std::vector<api::MemberStatus>& members);

// Whether the job needs this pod, which no node takes. A role that has numNodes members on nodes can use
// more, but needs none.
[[nodiscard]] bool is_pod_needed(const Observation& seen, const std::vector<api::MemberStatus>& members,
                                 const api::Pod& pod);

}  // namespace ratoon::core
