// A program that ends with the same exception each time it starts, before the job has made a step, does so
// the next time, too: the second time is enough where only the program can have caused it. What may have
// another cause has to end two starts in a row that are ten seconds apart; the pauses between restarts lead
// to that in half a minute. That holds for a path where nothing is, too. Faults of what it runs on, which may
// pass, are left to the restarts.
#pragma once

#include <string>
#include <string_view>

#include "operator/core/observation.h"
#include "operator/core/roster.h"

namespace ratoon::core {

// The type and the text of the exception that ended a program, without numbers, unless it tells of a path
// where nothing is; empty where these lines tell of none, or of one whose cause may lie outside the program:
// memory, files, connections, devices.
[[nodiscard]] std::string find_fault(std::string_view last_lines);

// Why the job cannot go on; empty: no such loss is among these. For a job that has made no step.
[[nodiscard]] std::string find_repeated_fault(const Observation& seen, const RosterChange& change);

// Whether this incarnation is of the same member as that name, and came after it.
[[nodiscard]] bool is_after(const Observation& seen, const api::MemberStatus& member,
                            std::string_view name_before);

}  // namespace ratoon::core
