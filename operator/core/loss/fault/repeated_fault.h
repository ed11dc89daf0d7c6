// If a program ends twice with the same exception before the job's first step, further starts would also end
// with this exception, so the job fails. If another cause than the program is possible, such as a missing
// file, two equal exceptions count only if they are at least ten seconds apart. After a few restarts, the
// operator waits at least ten seconds before each restart, so equal exceptions then count. Exceptions whose
// cause is outside of the program only lead to restarts, because the cause may disappear.
#pragma once

#include <string>
#include <string_view>

#include "operator/core/members/roster.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// Returns the type and text of the exception that ended a program, without numbers (except for a missing
// path). Returns an empty text if the last lines name no exception, or an exception that may have a cause
// outside of the program: memory, files, connections, devices.
[[nodiscard]] std::string find_fault(std::string_view last_lines);

// Returns why the job cannot continue, or an empty text if no exception was repeated. Call
// find_repeated_fault() only before the job's first step.
[[nodiscard]] std::string find_repeated_fault(const Observation& seen, const RosterChange& change);

// Returns whether `member` is a newer incarnation of the member whose pod had the name `name_before`.
[[nodiscard]] bool is_newer_incarnation(const Observation& seen, const api::MemberStatus& member,
                                        std::string_view name_before);

}  // namespace ratoon::core
