// Explains to people why the next world waits for missing members.
#pragma once

#include <string>

#include "operator/core/observation.h"

namespace ratoon::core {

// Lists members that failed and are not created again yet, members that asked to join and fell silent, a node
// without connections to others, and the scheduler's message about the first pod without a node; each begins
// with "; ". The value is empty if no reason is known. Reads the members, the rejection and the suspect nodes
// of `status`.
[[nodiscard]] std::string why_waiting(const Observation& seen, const api::TrainingJobStatus& status);

}  // namespace ratoon::core
