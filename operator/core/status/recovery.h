// The durations of the parts of a recovery. The loss is in the status, so that an operator that takes over
// goes on. It knows only what it saw itself: what happened before counts for the first phase that ends later.
#pragma once

#include <optional>

#include "base/core/clock.h"
#include "operator/core/decision.h"
#include "operator/core/members/roster.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// Starts a watch at a loss or a hand-over, records the end of each phase, and writes the durations to the
// decision's status after the first step of all ranks. Reads the count of steps made again of the decision.
void watch_recovery(const Observation& seen, const RosterChange& change, Timestamp now, Decision& decision);

}  // namespace ratoon::core
