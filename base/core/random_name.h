// Names that no other process draws.
#pragma once

#include <string>

namespace ratoon {

// 16 hexadecimal digits from the system; where it has no random numbers yet, of this process's number.
[[nodiscard]] std::string draw_name();

}  // namespace ratoon
