// The durations of the parts of a recovery. The watch is not part of the durable state: if its operator ends,
// the job still recovers, and only these figures are missing.
#pragma once

#include <optional>

#include "base/core/clock.h"
#include "operator/core/decision.h"
#include "operator/core/members/roster.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// Starts a watch at a loss or a hand-over, records the end of each phase, and writes the durations to the
// decision's status after the first step of all ranks.
void watch_recovery(const Observation& seen, const RosterChange& change, Timestamp now, Decision& decision);

}  // namespace ratoon::core
