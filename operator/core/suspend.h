// Suspended jobs hold no pods. Those that train save together first; what they saved is where they go on.
#pragma once

#include <optional>
#include <vector>

#include "operator/core/observation.h"

namespace ratoon::core {

// When a world that is to be suspended is not waited for any longer, saved or not.
[[nodiscard]] WallTime end_of_draining(const api::TrainingJobStatus& status);

// Every member that is not done moves to an incarnation that has no pod yet: pods of earlier ones are
// superseded, and nothing is counted, since nothing was lost.
void release_members(const Observation& seen, std::vector<api::MemberStatus>& members);

}  // namespace ratoon::core
