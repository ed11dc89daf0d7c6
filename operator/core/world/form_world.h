// operator/core/world/: forms the worlds of a job. A world is the set of processes that train together. The
// operator forms a world as soon as all processes that the world needs wait for it.
#pragma once

#include <optional>
#include <string>

#include "operator/core/decision.h"
#include "operator/core/observation.h"

namespace ratoon::core {

struct FormWorldResult {
  std::string fatal_reason{};  // not empty: why the job cannot go on
  // The earliest time at which the wait for a missing member ends. A message may cause an earlier decision.
  std::optional<WallTime> next_wait_ends_at{};
};

// Assigns the ranks of the next world if all processes that this world needs wait for it. If some processes
// are missing, writes into the status how many processes are ready and why the others are missing.
[[nodiscard]] FormWorldResult form_world(const Observation& seen, Timestamp now, Decision& decision);

}  // namespace ratoon::core
