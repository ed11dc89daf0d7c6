// The order in which Python sorts names of files, which is the order of torchvision's samples.
#pragma once

#include <string_view>

namespace ratoon::data {

// Python reads names as UTF-8 and compares code points; a byte that is no UTF-8 counts as U+DC80 to U+DCFF.
// That is the order of bytes but for names that are no UTF-8.
[[nodiscard]] bool python_sorts_before(std::string_view left, std::string_view right);

}  // namespace ratoon::data
