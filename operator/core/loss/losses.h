// operator/core/loss/: which members are lost, and why they ended. The losses of one observation: all members
// that are lost in it, and the cost of these losses.
#pragma once

#include "operator/core/loss/hang.h"
#include "operator/core/loss/silence.h"
#include "operator/core/loss/unreachable.h"
#include "operator/core/members/roster.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// The losses since the last decision.
struct ProgressMade {
  bool has_stepped = false;
  bool has_advanced = false;  // a step was completed for the first time, or a checkpoint was saved
};

[[nodiscard]] RosterChange change_roster(const Observation& seen, const SilentMembers& silence,
                                         const Hang& hang, const Unreachable& unreachable,
                                         const ProgressMade& progress, Timestamp now);

// Returns one sentence for members that leave their world because of the loss; `otherwise` if no member was
// lost.
[[nodiscard]] std::string describe_loss(const Observation& seen, const RosterChange& change,
                                        const std::string& otherwise);

}  // namespace ratoon::core
