// Words of an exception that only the program itself can have caused: its types and the phrases of libraries
// for wrong shapes, indices and names.
#pragma once

#include <string_view>

namespace ratoon::core {

// Pure. Of an exception's type and text, where may_be_from_outside() says no.
[[nodiscard]] bool is_from_the_program(std::string_view fault);

}  // namespace ratoon::core
