// The version of the Ratoon library, for programs that print or compare the version.
//
//   std::printf("trained with Ratoon %s\n", ratoon::version());
#pragma once

namespace ratoon {

// For example "0.1.0".
[[nodiscard]] const char* version();

}  // namespace ratoon
