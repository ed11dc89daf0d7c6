// Where the seconds of a recovery went. The watch is a memory beside the truth: if it is lost with its
// operator, the job recovers all the same and only the account of it is missing.
#pragma once

#include <optional>

#include "base/core/clock.h"
#include "operator/core/decision.h"
#include "operator/core/observation.h"
#include "operator/core/roster.h"

namespace ratoon::core {

// Begins a watch at a loss or at a hand-over, stamps each phase when it is seen to be over, and after the
// first step of all ranks writes the account into the decision's status.
void watch_recovery(const Observation& seen, const RosterChange& change, Timestamp now, Decision& decision);

}  // namespace ratoon::core
