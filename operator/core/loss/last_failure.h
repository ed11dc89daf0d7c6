// Records for users which failure broke the world: the first member that failed, with its exit code and
// last output. Members that fail because of the first failure, or leave because the world has ended, are not
// recorded.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "operator/core/members/roster.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// Records the first failure of a world's members. If several members fail in the same way before they join a
// world, records only the first; a different failure replaces the record.
void record_first_failure(const Observation& seen, const RosterChange& change,
                          api::TrainingJobStatus& status);

// Collects the facts about the member's end from its pod and its processes.
[[nodiscard]] api::MemberFailure describe_failure(const Observation& seen, const Loss& loss);

// Returns the line in which a program, its language runtime or the agent names the cause of the program's
// end, or an empty text.
[[nodiscard]] std::string find_exception(std::string_view last_lines);

}  // namespace ratoon::core
