// What the members of the next world wait for that are not there yet, for people.
#pragma once

#include <string>

#include "operator/core/observation.h"

namespace ratoon::core {

// Who failed and is not made again yet, who asked to join and fell quiet, and the scheduler's words about the
// first pod that no node takes; each begins with "; ". Empty: nothing is known. Of `status` the members and
// the rejection are read.
[[nodiscard]] std::string why_waiting(const Observation& seen, const api::TrainingJobStatus& status);

}  // namespace ratoon::core
