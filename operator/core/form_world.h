// The next world: formed as soon as those wait for it of whom it is to consist.
#pragma once

#include <optional>
#include <string>

#include "operator/core/decision.h"
#include "operator/core/observation.h"

namespace ratoon::core {

struct Forming {
  std::string fatal{};                // not empty: the job cannot go on, and why
  std::optional<WallTime> next_at{};  // when fewer may be waited for, though nobody says anything new
};

// Gives out the seats of the next attempt if everybody is there who has to be, else says in the status for
// whom it waits.
[[nodiscard]] Forming form_world(const Observation& seen, Timestamp now, Decision& decision);

}  // namespace ratoon::core
