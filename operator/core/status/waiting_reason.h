// Explains to users for which missing members the next world waits, and why they are missing.
#pragma once

#include <optional>
#include <string>

#include "operator/core/observation.h"

namespace ratoon::core {

// Returns all known reasons, each after "; ". A reason names a pod of the previous group that must end first,
// a refused pod, a member that failed and is not created again yet, a member that asked to join and fell
// silent, or a node without connections to other nodes. Another reason is the report or the silence of the
// scheduler and kubelet about the first pod that does not run. Returns an empty text if no reason is known.
// Reads the members, the rejection and the suspect nodes of `status`.
[[nodiscard]] std::string waiting_reason(const Observation& seen, const api::TrainingJobStatus& status);

// Returns a sentence if the pod has waited for half a minute without any report from a scheduler. Otherwise
// returns an empty text.
[[nodiscard]] std::string describe_scheduler_silence(const Observation& seen, const api::Pod& pod);

// Returns when waiting_reason() may next report that a scheduler or kubelet has been silent for too long.
[[nodiscard]] std::optional<WallTime> next_scheduler_silence_report(const Observation& seen,
                                                                    const api::TrainingJobStatus& status);

}  // namespace ratoon::core
