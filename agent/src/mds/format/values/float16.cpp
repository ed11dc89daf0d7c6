#include "agent/src/mds/format/values/float16.h"

#include <bit>
#include <cmath>

namespace ratoon::mds {

std::uint16_t to_float16(double value) {
  constexpr std::uint16_t kInfinity = 0x7c00;
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | 0x7e00);
  const double size = std::fabs(value);
  if (size >= 65520)
    return static_cast<std::uint16_t>(sign | kInfinity);  // half a step above the largest, 65504
  // Expresses the number in units of the last of float16's ten fraction bits, and rounds to the nearest whole
  // number of units. If two whole numbers are equally near, takes the even one. Numbers below 2^-14, the
  // smallest normal number, have the same unit as 2^-14. If the fraction overflows, the carry increases the
  // exponent, which gives the correct float16.
  const int power = size < 0x1p-14 ? -14 : std::ilogb(size);
  const auto steps = static_cast<std::uint32_t>(std::nearbyint(std::ldexp(size, 10 - power)));
  const std::uint32_t base = size < 0x1p-14 ? 0 : static_cast<std::uint32_t>(power + 14) << 10;
  return static_cast<std::uint16_t>(sign | (base + steps));
}

}  // namespace ratoon::mds
