// Phrases of an exception that say that a file or folder does not exist. Most often the path is wrong, and
// each start fails alike; sometimes another program still writes the file.
#pragma once

#include <string_view>

namespace ratoon::core {

// Pure. Takes an exception's type and text. The value is true if the exception names such a path and no other
// outside cause: no server, no device, no library that a node lacks.
[[nodiscard]] bool is_missing_path(std::string_view fault);

}  // namespace ratoon::core
