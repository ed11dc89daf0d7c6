// Makes the announcement to agents from the list of members and their nodes. form_world.h adds the
// assignments of a new world to this announcement.
#pragma once

#include "operator/core/observation.h"
#include "operator/core/world/elastic.h"

namespace ratoon::core {

// If no world trains, pass an empty GrowthPlan as `growth`.
[[nodiscard]] api::Announcement announce(const Observation& seen, const api::TrainingJobStatus& status,
                                         bool keeps_world, const GrowthPlan& growth);

}  // namespace ratoon::core
