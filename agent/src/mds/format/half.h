// float16 of a double: the nearest, of two that are equally near the even one.
#pragma once

#include <cstdint>

namespace ratoon::mds {

// Infinity where the number is too large.
[[nodiscard]] std::uint16_t to_half(double value);

}  // namespace ratoon::mds
