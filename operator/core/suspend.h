// Suspended jobs hold no pods. Those that train save together first; what they saved is where they go on.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "operator/core/decision.h"
#include "operator/core/observation.h"
#include "operator/core/roster.h"

namespace ratoon::core {

// When a world that is to be suspended is not waited for any longer, saved or not: as long as its saves take.
// Nothing while not all of its members were heard.
[[nodiscard]] std::optional<WallTime> end_of_draining(const Observation& seen,
                                                      const api::TrainingJobStatus& status);

// Every member that is not done, and in a group every one, moves to an incarnation that has no pod yet: pods
// of earlier ones are superseded, and nothing is counted, since nothing was lost.
void release_members(const Observation& seen, std::vector<api::MemberStatus>& members);

// A world that stands saves before it is given up, and is not waited for without end. Nothing: it is time, or
// none stands.
[[nodiscard]] std::optional<Decision> drain(const Observation& seen, const RosterChange& change,
                                            std::optional<Timestamp> next_check, const std::string& purpose,
                                            api::TrainingJobStatus status);

// Nobody gets a pod, and nobody keeps one longer than it takes to save.
[[nodiscard]] Decision suspend(const Observation& seen, const RosterChange& change,
                               std::optional<Timestamp> next_check, api::TrainingJobStatus status);

}  // namespace ratoon::core
