// Explains to users for which missing members the next world waits, and why they are missing.
#pragma once

#include <optional>
#include <string>

#include "operator/core/observation.h"

namespace ratoon::core {

// Returns all known reasons, each after "; ": members that failed and are not created again yet, members that
// asked to join and fell silent, a node without connections to other nodes, and what scheduler and kubelet
// report (or that they report nothing) about the first pod that does not run. Returns an empty text if no
// reason is known. Reads the members, the rejection and the suspect nodes of `status`.
[[nodiscard]] std::string why_waiting(const Observation& seen, const api::TrainingJobStatus& status);

// Returns a sentence if the pod has waited for half a minute and no scheduler has reported anything about it;
// else an empty text.
[[nodiscard]] std::string why_not_judged(const Observation& seen, const api::Pod& pod);

// Returns when to call why_waiting() again, because a scheduler or kubelet will have been quiet for too long.
[[nodiscard]] std::optional<WallTime> next_silence_to_report(const Observation& seen,
                                                             const api::TrainingJobStatus& status);

}  // namespace ratoon::core
