// The version of the library, for programs that print or compare it.
#pragma once

namespace ratoon {

// For example "0.1.0".
[[nodiscard]] const char* version();

}  // namespace ratoon
