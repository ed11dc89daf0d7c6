// The attempt: the world that stands keeps its number, and the next one takes a newer one.
#pragma once

#include "operator/core/observation.h"
#include "operator/core/roster.h"

namespace ratoon::core {

// Keeps the world that stands, or takes the number of the next one and lets successors that are ready take
// over. Whether it was kept.
bool keep_world(const Observation& seen, const RosterChange& change, api::TrainingJobStatus& status);

}  // namespace ratoon::core
