// The part of the announcement to agents that the roster and the nodes determine; form_world.h adds a new
// world.
#pragma once

#include "operator/core/observation.h"
#include "operator/core/world/elastic.h"

namespace ratoon::core {

// `growth` must be empty if there is no world.
[[nodiscard]] api::Announcement announce(const Observation& seen, const api::TrainingJobStatus& status,
                                         bool keeps_world, const GrowthPlan& growth);

}  // namespace ratoon::core
