// Converts the bits of a double to hexadecimal digits and back, so that a saved state in JSON restores the
// exact value. Decimal digits would not restore every double: they lose the payload bits of a NaN.
#pragma once

#include <bit>
#include <charconv>
#include <cstdint>
#include <string>

#include "base/contract/fields.h"
#include "base/core/hex.h"

namespace ratoon::metrics {

inline std::string double_to_hex(double value) {
  return to_hex(std::bit_cast<std::uint64_t>(value));
}

inline double read_double_bits(Fields& f, const char* name) {
  constexpr std::size_t kHexDigits = 16;
  const std::string text = f.text(name, kHexDigits);
  std::uint64_t bits = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), bits, 16);
  if (text.size() != kHexDigits || code != std::errc() || end != text.data() + text.size())
    f.complain(name, "the 16 hexadecimal digits of a double");
  return std::bit_cast<double>(bits);
}

}  // namespace ratoon::metrics
