// Checks this process's place among a launch's ranks (Options::group), which a program may have set.
#pragma once

#include <ratoon/options.h>
#include <ratoon/result.h>

namespace ratoon::session {

// Returns whether the program set its place among the ranks, so that the variables of launchers are not read.
[[nodiscard]] bool is_filled(const GroupOptions& group);

// The message of kInvalid names the field of Options::group and quotes its value.
[[nodiscard]] Result<void> check_group(const Options& options);

}  // namespace ratoon::session
