// Elastic jobs: when the next world is formed without the members that are missing, and when it is given up
// again for those that came. A role of numNodes may have more places than that (maxReplicas): any numNodes of
// them make a world that waits for nobody else. The status says whom a world was formed without (is_absent),
// so that the next operator knows it too.
#pragma once

#include <optional>
#include <vector>

#include "operator/core/observation.h"

namespace ratoon::core {

// Who would sit in the next world.
struct Lineup {
  std::vector<api::MemberStatus> members;  // the roster, is_absent as it would be
  std::optional<WallTime> fewer_at;        // when nobody is waited for any more
  std::optional<WallTime> next_at;         // when the first is not, and perhaps too few are left
};

// Everybody, but for members that are not ready and that need not be waited for: the last world stood without
// them already, or shrinkAfterSeconds have passed since `waiting_since`, and growCooldownSeconds too before
// the first world; nor are they where numNodes of the role are ready. Less than minReplicas of a role are no
// world, and a role with a number of its own has all its members.
[[nodiscard]] Lineup pick_lineup(const Observation& seen, const std::vector<api::MemberStatus>& members,
                                 WallTime waiting_since);

// Whether the world that stands is to be handed over to a larger one.
struct Growth {
  bool is_due = false;
  std::optional<WallTime> due_at;  // somebody is ready for it and waits for the cooldown
};
[[nodiscard]] Growth find_growth(const Observation& seen, const api::TrainingJobStatus& status);

// How many members fewer than the job asks for sit in the world.
[[nodiscard]] std::uint32_t count_missing(const api::TrainingJobSpec& spec,
                                          const std::vector<api::MemberStatus>& members);

// Whether the job lacks what this pod is for while no node takes it. A role that has numNodes members on
// nodes takes more where there is room, and lacks nobody.
[[nodiscard]] bool is_lacked(const Observation& seen, const std::vector<api::MemberStatus>& members,
                             const api::Pod& pod);

}  // namespace ratoon::core
