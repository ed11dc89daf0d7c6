// Converts a double to the nearest float16. If two float16 numbers are equally near, returns the one whose
// last bit is 0.
#pragma once

#include <cstdint>

namespace ratoon::mds {

// Returns infinity if the number is too large for float16.
[[nodiscard]] std::uint16_t to_float16(double value);

}  // namespace ratoon::mds
