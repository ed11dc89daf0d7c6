// Checks Options::group: the rank of this process and the number of ranks, which a program may have set.
#pragma once

#include <ratoon/options.h>
#include <ratoon/result.h>

namespace ratoon::session {

// Returns whether the program itself set its rank, so that the environment variables of launchers are not
// read.
[[nodiscard]] bool is_group_set(const GroupOptions& group);

// The message of a kInvalid error names the field of Options::group and quotes its value.
[[nodiscard]] Result<void> check_group(const Options& options);

}  // namespace ratoon::session
