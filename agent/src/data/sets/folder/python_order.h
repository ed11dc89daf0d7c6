// Compares file names in the order of Python's sort, which is the order of torchvision's samples.
#pragma once

#include <string_view>

namespace ratoon::data {

// Python reads names as UTF-8 and compares code points. It reads a byte that is not valid UTF-8 as one of the
// code points U+DC80 to U+DCFF. Python's order differs from the order of bytes only for names that are not
// UTF-8.
[[nodiscard]] bool python_sorts_before(std::string_view left, std::string_view right);

}  // namespace ratoon::data
