// Measures the phases of a recovery. The status stores the loss, so that a new leader can continue. A new
// leader does not know when past phases ended: it adds their time to the first phase whose end it sees.
#pragma once

#include <optional>

#include "base/core/clock.h"
#include "operator/core/decision.h"
#include "operator/core/members/roster.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// Begins to measure at a loss or a hand-over, records the end of each phase, and writes the durations to the
// status after the first step of all ranks. Call watch_recovery() after repeated steps were counted.
void watch_recovery(const Observation& seen, const RosterChange& change, Timestamp now, Decision& decision);

}  // namespace ratoon::core
