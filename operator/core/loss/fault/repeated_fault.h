// Before the job's first step, a program that ended twice with the same exception will end with it at each
// start. If only the program can have caused the exception, two such ends suffice. If another cause is
// possible, the ends must be ten seconds apart, which the pauses between restarts reach within half a minute.
// Missing paths belong to this case. Faults of the environment, which may disappear, are left to the
// restarts.
#pragma once

#include <string>
#include <string_view>

#include "operator/core/members/roster.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// The type and text of the exception that ended a program, without numbers unless it names a missing path.
// The value is empty if the last lines name no exception, or one whose cause may be outside of the program:
// memory, files, connections, devices.
[[nodiscard]] std::string find_fault(std::string_view last_lines);

// The reason why the job cannot continue; empty: there is no such loss. The function is only for a job
// without steps.
[[nodiscard]] std::string find_repeated_fault(const Observation& seen, const RosterChange& change);

// Whether this incarnation belongs to the same member as `name_before` and is newer.
[[nodiscard]] bool is_after(const Observation& seen, const api::MemberStatus& member,
                            std::string_view name_before);

}  // namespace ratoon::core
