// Pauses before members whose program failed are made again: a crash that comes at every start must not keep
// nodes busy. Disruptions never wait.
#pragma once

#include <optional>

#include "operator/core/observation.h"
#include "operator/core/roster.h"

namespace ratoon::core {

// The pause after so many crashes in a row without a step between them.
[[nodiscard]] Duration pause_after(const api::RestartPolicy& policy, std::uint32_t crashes_in_a_row);

// Counts the crash, if there was one, and puts off the next pods of those that failed.
void put_off_crashed(const Observation& seen, bool has_stepped, RosterChange& change);

// Forgets pauses that are over, and tells when the next one will be.
[[nodiscard]] std::optional<WallTime> end_pauses(const Observation& seen,
                                                 std::vector<api::MemberStatus>& members);

}  // namespace ratoon::core
