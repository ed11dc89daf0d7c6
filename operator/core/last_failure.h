// What broke the world, for people: the first member to fail, with its code and its last words. Members that
// fail because of it, and those that leave because the world is gone, are no causes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "operator/core/observation.h"
#include "operator/core/roster.h"

namespace ratoon::core {

// Of the members of one world only the first is kept, and of those that fail the same way before they ever
// sat; any other that never sat is told at once.
void note_failure(const Observation& seen, const RosterChange& change, api::TrainingJobStatus& status);

// What the member's pod and processes tell of its end.
[[nodiscard]] api::Failure describe_failure(const Observation& seen, const Loss& loss);

// The line in which a program, its runtime or its agent says what ended it; empty: no line does.
[[nodiscard]] std::string find_exception(std::string_view last_lines);

}  // namespace ratoon::core
