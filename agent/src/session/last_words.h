// What a process says where it ends before, or instead of, its training.
#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <ratoon/options.h>
#include <ratoon/result.h>

namespace ratoon::session {

// Prints the help and is true, where that is all that is wanted. Throws Failure where options are none.
[[nodiscard]] bool is_only_asked_for_help(const Result<Options>& options);

// What an exception of a library means for the process: that an accelerator failed, say, which the program
// has not done.
struct ErrorMeaning {
  int exit_code = 1;
  std::string sentence{};
  bool tears_nothing_down = false;  // destructors would block, or fail
};

// Asked for each exception that is neither a Failure nor of Ratoon, before the program is blamed for it.
void explain_errors_with(std::function<std::optional<ErrorMeaning>(const std::exception&)> explain);

// Where an exception is caught: prints why the process ends, and returns its exit code. What is neither a
// Failure nor of Ratoon was thrown by `whose`.
[[nodiscard]] int say_why(std::string_view whose);

}  // namespace ratoon::session
