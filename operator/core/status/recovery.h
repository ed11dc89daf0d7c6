// Measures the phases of a recovery. The job's status stores the loss, so that a new leader can continue the
// measurement. A new leader does not know when past phases ended, so it adds the time of these phases to the
// first phase whose end it observes.
#pragma once

#include <optional>

#include "base/core/clock.h"
#include "operator/core/decision.h"
#include "operator/core/members/roster.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// Begins to measure at a loss or a hand-over, records the end of each phase, and writes the durations to the
// status after the first step of all ranks. If the decision forms a world, call measure_recovery() after
// form_world(), which counts the repeated steps.
void measure_recovery(const Observation& seen, const RosterChange& change, Timestamp now, Decision& decision);

}  // namespace ratoon::core
