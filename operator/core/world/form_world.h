// This folder: the worlds of a job, and how the next one is formed. A world is formed as soon as all
// processes that it needs wait for it.
#pragma once

#include <optional>
#include <string>

#include "operator/core/decision.h"
#include "operator/core/observation.h"

namespace ratoon::core {

struct FormWorldResult {
  std::string fatal{};  // not empty: why the job cannot go on
  // When the wait for the next missing member ends, without any new message.
  std::optional<WallTime> next_at{};
};

// Assigns the ranks of the next attempt if all needed processes wait. Else the status says what is missing.
[[nodiscard]] FormWorldResult form_world(const Observation& seen, Timestamp now, Decision& decision);

}  // namespace ratoon::core
