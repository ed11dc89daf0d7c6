// What agents are told, as far as the roster and the nodes say it; what a new world adds is in form_world.h.
#pragma once

#include "operator/core/elastic.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// Without a world, nobody grows.
[[nodiscard]] api::Announcement announce(const Observation& seen, const api::TrainingJobStatus& status,
                                         bool keeps_world, const Growth& growth);

}  // namespace ratoon::core
