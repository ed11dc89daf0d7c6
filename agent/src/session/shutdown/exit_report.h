// Prints the messages of a process that ends before or instead of its training.
#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <ratoon/options.h>
#include <ratoon/result.h>

namespace ratoon::session {

// Prints the help and returns true if the user asked only for the help. Throws Failure if the options are not
// valid.
[[nodiscard]] bool is_help_request(const Result<Options>& options);

// Says what the exception of a library means for the process: for example, that an accelerator failed, which
// is no error of the program.
struct ErrorMeaning {
  int exit_code = 1;
  std::string sentence{};
  bool must_skip_teardown = false;  // destructors would block, or fail
};

// `explain` is called for each exception that is not Ratoon's, before the exception counts as an error of the
// program.
void set_error_explainer(std::function<std::optional<ErrorMeaning>(const std::exception&)> explain);

// Call report_exception() in the handler of an exception. Prints why the process ends, and returns its exit
// code. `whose` names, in the message, the code that threw an exception that is not Ratoon's.
[[nodiscard]] int report_exception(std::string_view whose);

}  // namespace ratoon::session
