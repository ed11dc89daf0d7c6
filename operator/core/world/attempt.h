// The attempt number: the present world keeps its number, and the next world gets a larger number.
#pragma once

#include "operator/core/members/roster.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// Keeps the present world, or takes the number of the next one and lets ready successors take over. Returns
// whether the world was kept.
bool keep_world(const Observation& seen, const RosterChange& change, api::TrainingJobStatus& status);

}  // namespace ratoon::core
