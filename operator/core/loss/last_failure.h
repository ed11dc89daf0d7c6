// The failure that broke the world, for people: the first member to fail, with its exit code and last output.
// Members that fail because of the first failure, and members that leave because the world has ended, are not
// recorded.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "operator/core/members/roster.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// Records the first failure of a world's members. Of members that fail in the same way before they are in a
// world only the first is recorded; a different failure replaces it.
void note_failure(const Observation& seen, const RosterChange& change, api::TrainingJobStatus& status);

// The facts about the member's end from its pod and processes.
[[nodiscard]] api::MemberFailure describe_failure(const Observation& seen, const Loss& loss);

// The line in which a program, its runtime or its agent names the cause of its end; empty: there is no such
// line.
[[nodiscard]] std::string find_exception(std::string_view last_lines);

}  // namespace ratoon::core
