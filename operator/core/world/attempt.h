// Assigns attempt numbers: the current world keeps its number, and the next world gets a larger one.
#pragma once

#include "operator/core/members/roster.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// Decides whether the current world continues, and ends it if not. When a world ends, takes the next attempt
// number and replaces members by their ready successors. Returns whether the current world continues.
bool keep_world(const Observation& seen, const RosterChange& change, api::TrainingJobStatus& status);

}  // namespace ratoon::core
