// Hangs: processes that are alive and send beats, and stay in one phase longer than the limit in their beats.
//
// A process that waits in a collective is a victim. The culprits are the processes that exceed the limit of a
// phase outside of a collective. If there are none, the culprits are processes in the collective of an
// earlier step. If there are none of these either, the world is given up and all of its members stay. Each
// hang doubles the next limit: if the program was only busy with long work that it did not announce, the
// training eventually completes that work. Processes that wait for each other because some cannot connect to
// others do not hang: see unreachable.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "operator/core/members/roster.h"
#include "operator/core/observation.h"

namespace ratoon::core {

struct Hang {
  std::vector<CondemnedMember> culprits;  // together they count as one hang
  std::string of_world;  // not empty: all processes wait for each other; the text says for how long
  std::optional<Timestamp> next_check;  // when another process may exceed its limit
};

[[nodiscard]] Hang find_hang(const Observation& seen, Timestamp now);

}  // namespace ratoon::core
