// Checks whether the options of a run are valid and do not contradict each other. The options may be from
// flags, environment variables or the program itself.
#pragma once

#include <ratoon/options.h>
#include <ratoon/result.h>

namespace ratoon::session {

// The message of a kInvalid error names the flag and quotes its value.
[[nodiscard]] Result<void> check_options(const Options& options);

}  // namespace ratoon::session
