// Converts a double to the nearest float16. If two float16 are equally near, the even one is chosen.
#pragma once

#include <cstdint>

namespace ratoon::mds {

// Returns infinity if the number is too large.
[[nodiscard]] std::uint16_t to_half(double value);

}  // namespace ratoon::mds
