// Words of an exception by which a file or a folder is not where the program looks for it. Most often the
// path is a mistake, and each start meets it again; at times another program still writes the file.
#pragma once

#include <string_view>

namespace ratoon::core {

// Pure. Of an exception's type and text, where these tell of such a path and of nothing else outside of the
// program: no server, no device, no library that a node lacks.
[[nodiscard]] bool is_missing_path(std::string_view fault);

}  // namespace ratoon::core
