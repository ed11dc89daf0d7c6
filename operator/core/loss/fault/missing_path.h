// Finds phrases in an exception's text which say that a file or folder does not exist. In most cases the path
// is wrong, and each start fails in the same way. Sometimes another program is still writing the file.
#pragma once

#include <string_view>

namespace ratoon::core {

// This function is pure. The parameter `fault` contains an exception's type and text. Returns true if the
// exception names a missing path and no other cause outside of the program (a server, a device, a library
// that the node lacks).
[[nodiscard]] bool is_missing_path(std::string_view fault);

}  // namespace ratoon::core
