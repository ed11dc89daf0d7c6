// Makes the part of the announcement to agents that follows from the list of members and their nodes;
// form_world.h adds a new world's assignments.
#pragma once

#include "operator/core/observation.h"
#include "operator/core/world/elastic.h"

namespace ratoon::core {

// `growth` must be empty if no world trains.
[[nodiscard]] api::Announcement announce(const Observation& seen, const api::TrainingJobStatus& status,
                                         bool keeps_world, const GrowthPlan& growth);

}  // namespace ratoon::core
