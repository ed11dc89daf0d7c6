// Finds hangs: processes that send heartbeats but stay in one phase for longer than the limit in their
// heartbeats.
//
// A process that waits in a collective (such as all-reduce) is a victim of the hang, not its cause. The
// culprits are processes that exceed the limit of a phase outside of a collective or, if there are none,
// processes in the collective of an earlier step. If there are no culprits, the operator ends the world and
// keeps all members. Each hang doubles the limits, so that a program which does long work without an
// announcement eventually completes it. A wait does not count as a hang if some processes cannot connect to
// others: see unreachable.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "operator/core/members/roster.h"
#include "operator/core/observation.h"

namespace ratoon::core {

struct Hang {
  std::vector<MemberToReplace> culprits;  // together they count as one hang
  std::string world_hang_reason;  // not empty: all processes wait for each other; the text says for how long
  std::optional<Timestamp> next_check;  // when another process may exceed its limit
};

[[nodiscard]] Hang find_hang(const Observation& seen, Timestamp now);

}  // namespace ratoon::core
