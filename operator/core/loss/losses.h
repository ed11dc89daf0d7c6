// operator/core/loss/: finds out which members are lost, and why they ended. losses.h: finds all members that
// are lost according to one observation, and counts these losses.
#pragma once

#include "operator/core/loss/hang.h"
#include "operator/core/loss/silence.h"
#include "operator/core/loss/unreachable.h"
#include "operator/core/members/roster.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// The job's progress since the last decision.
struct ProgressMade {
  bool has_stepped = false;
  bool has_advanced = false;  // a step was completed for the first time, or a checkpoint was saved
};

[[nodiscard]] RosterChange change_roster(const Observation& seen, const SilentMembers& silence,
                                         const Hang& hang, const UnreachableMembers& unreachable,
                                         const ProgressMade& progress, Timestamp now);

// Returns one sentence that tells the other members why they must leave their world; returns `otherwise` if
// no member was lost.
[[nodiscard]] std::string describe_loss(const Observation& seen, const RosterChange& change,
                                        const std::string& otherwise);

}  // namespace ratoon::core
