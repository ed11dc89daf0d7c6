// Prints the last message of a process: the help text, or the exception that ends the process.
#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <ratoon/options.h>
#include <ratoon/result.h>

namespace ratoon::session {

// If the user requested the help text, prints it and returns true. Throws Failure if the options of the run
// are not valid.
[[nodiscard]] bool is_help_request(const Result<Options>& options);

// ErrorMeaning: the exit code and message for an exception of a library, for example of a failed accelerator,
// which is not an error of the program.
struct ErrorMeaning {
  int exit_code = 1;
  std::string sentence{};
  bool must_skip_teardown = false;  // destructors would block, or fail
};

// Sets a function that is called for each exception of another library, before the exception counts as an
// error of the program.
void set_error_explainer(std::function<std::optional<ErrorMeaning>(const std::exception&)> explain);

// Call report_exception() in a catch block. Prints why the current exception ends the process, and returns
// the exit code. `whose`, such as "the training function", is the source of the exception in the message.
[[nodiscard]] int report_exception(std::string_view whose);

}  // namespace ratoon::session
