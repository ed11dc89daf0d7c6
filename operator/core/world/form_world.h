// operator/core/world/: forms the worlds of a job (the processes that train together). A world is formed as
// soon as all processes that it needs wait for it.
#pragma once

#include <optional>
#include <string>

#include "operator/core/decision.h"
#include "operator/core/observation.h"

namespace ratoon::core {

struct FormWorldResult {
  std::string fatal_reason{};  // not empty: why the job cannot go on
  // The time at which the wait for the next missing member ends, if no message comes first.
  std::optional<WallTime> next_wait_ends_at{};
};

// Assigns the ranks of the next attempt if all processes that it needs wait. If some processes are missing,
// writes into the status how many processes are ready and what is missing.
[[nodiscard]] FormWorldResult form_world(const Observation& seen, Timestamp now, Decision& decision);

}  // namespace ratoon::core
