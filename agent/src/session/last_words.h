// What a process says where it ends before, or instead of, its training.
#pragma once

#include <string_view>

#include <ratoon/options.h>
#include <ratoon/result.h>

namespace ratoon::session {

// Prints the help and is true, where that is all that is wanted. Throws Failure where options are none.
[[nodiscard]] bool is_only_asked_for_help(const Result<Options>& options);

// Where an exception is caught: prints why the process ends, and returns its exit code. What is neither a
// Failure nor of Ratoon was thrown by `whose`.
[[nodiscard]] int say_why(std::string_view whose);

}  // namespace ratoon::session
