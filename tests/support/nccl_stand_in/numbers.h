// The two floating-point types that C++20 lacks, with the conversions that round to the nearest, ties to
// even.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace ratoon::test::nccl_stand_in {

struct Half {  // IEEE 754 binary16: 1 bit of sign, 5 of exponent, 10 of fraction
  std::uint16_t bits = 0;

  Half() = default;
  explicit Half(float value) {
    const auto wide = std::bit_cast<std::uint32_t>(value);
    const auto sign = static_cast<std::uint16_t>((wide >> 16) & 0x8000U);
    const float size = std::fabs(value);
    if (std::isnan(value)) {
      bits = static_cast<std::uint16_t>(sign | 0x7e00U);
    } else if (size >= 65520.0F) {  // half-way between the largest number and the next power of 2
      bits = static_cast<std::uint16_t>(sign | 0x7c00U);
    } else if (size < 0x1p-14F) {  // a multiple of 2^-24
      bits = static_cast<std::uint16_t>(sign | static_cast<std::uint16_t>(std::nearbyint(size * 0x1p24F)));
    } else {
      const std::uint32_t kept = (wide & 0x7fffffffU) + 0xfffU + ((wide >> 13) & 1U);
      bits = static_cast<std::uint16_t>(sign | ((kept >> 13) - ((127U - 15U) << 10)));
    }
  }
  explicit operator float() const {
    const std::uint32_t exponent = (bits >> 10) & 0x1fU;
    const std::uint32_t fraction = bits & 0x3ffU;
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
    if (exponent == 0)
      return std::copysign(static_cast<float>(fraction) * 0x1p-24F, sign != 0 ? -1.0F : 1.0F);
    if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000U | (fraction << 13));
    return std::bit_cast<float>(sign | ((exponent + 127U - 15U) << 23) | (fraction << 13));
  }
};

struct Bfloat16 {  // the upper half of a float
  std::uint16_t bits = 0;

  Bfloat16() = default;
  explicit Bfloat16(float value) {
    const auto wide = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t rounded = wide + 0x7fffU + ((wide >> 16) & 1U);
    bits = std::isnan(value) ? std::uint16_t{0x7fc0} : static_cast<std::uint16_t>(rounded >> 16);
  }
  explicit operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
};

}  // namespace ratoon::test::nccl_stand_in
