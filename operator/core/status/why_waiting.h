// Explains to people why the next world waits for missing members.
#pragma once

#include <optional>
#include <string>

#include "operator/core/observation.h"

namespace ratoon::core {

// Lists members that failed and are not created again yet, members that asked to join and fell silent, a node
// without connections to others, and the messages, or the silence, of scheduler and kubelet about the first
// pod that does not run; each begins with "; ". The value is empty if no reason is known. Reads the members,
// the rejection and the suspect nodes of `status`.
[[nodiscard]] std::string why_waiting(const Observation& seen, const api::TrainingJobStatus& status);

// A sentence about a pod that waits for half a minute, and about which no scheduler has said anything; else
// empty.
[[nodiscard]] std::string why_not_judged(const Observation& seen, const api::Pod& pod);

// When why_waiting() has to be called again, because a scheduler or a kubelet has been quiet for long.
[[nodiscard]] std::optional<WallTime> next_silence_to_report(const Observation& seen,
                                                             const api::TrainingJobStatus& status);

}  // namespace ratoon::core
