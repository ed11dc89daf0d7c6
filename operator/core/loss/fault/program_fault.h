// Finds phrases in an exception that only a fault of the program can cause: types of errors, and messages of
// libraries about wrong shapes, indices and names.
#pragma once

#include <string_view>

namespace ratoon::core {

// This function is pure. The parameter `fault` contains an exception's type and text. Call this function only
// if may_have_external_cause() returns false for the exception.
[[nodiscard]] bool is_program_fault(std::string_view fault);

}  // namespace ratoon::core
