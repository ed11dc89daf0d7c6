// Checks whether options fit together. Options may come from flags, variables or the program itself.
#pragma once

#include <ratoon/options.h>
#include <ratoon/result.h>

namespace ratoon::session {

// The message of kInvalid names the flag and quotes its value.
[[nodiscard]] Result<void> check_options(const Options& options);

}  // namespace ratoon::session
