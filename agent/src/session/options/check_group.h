// Checks the place of this process among the ranks of a launch. A program may have filled it.
#pragma once

#include <ratoon/options.h>
#include <ratoon/result.h>

namespace ratoon::session {

// Whether the program gave the process a place, so that no launcher's variables are to be read.
[[nodiscard]] bool is_filled(const GroupOptions& group);

// kInvalid: the message names the field of Options::group and quotes its value.
[[nodiscard]] Result<void> check_group(const Options& options);

}  // namespace ratoon::session
