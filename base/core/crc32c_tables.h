// Arithmetic on CRCs, at compile time. A CRC is a polynomial over GF(2) modulo Castagnoli's polynomial; bit
// 31 is the coefficient of x^0.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace ratoon::crc32c_tables {

inline constexpr std::uint32_t kPolynomial = 0x82F63B78;
inline constexpr std::uint32_t kOne = std::uint32_t{1} << 31;

[[nodiscard]] constexpr std::uint32_t times_x(std::uint32_t a) {
  return (a >> 1) ^ ((a & 1) != 0 ? kPolynomial : 0);
}

[[nodiscard]] constexpr std::uint32_t multiply(std::uint32_t a, std::uint32_t b) {
  std::uint32_t product = 0;
  for (std::uint32_t power = kOne; power != 0; power >>= 1) {
    if ((a & power) != 0) product ^= b;
    b = times_x(b);
  }
  return product;
}

// Entry k is x^(8 * 2^k), the factor by which appending 2^k zero bytes multiplies a CRC.
[[nodiscard]] constexpr std::array<std::uint32_t, 64> make_byte_powers() {
  std::array<std::uint32_t, 64> powers{};
  powers[0] = kOne >> 8;
  for (std::size_t k = 1; k < powers.size(); ++k) powers[k] = multiply(powers[k - 1], powers[k - 1]);
  return powers;
}

inline constexpr auto kBytePowers = make_byte_powers();

// Returns x^(8 * length) modulo Castagnoli's polynomial.
[[nodiscard]] constexpr std::uint32_t power_of_bytes(std::uint64_t length) {
  std::uint32_t power = kOne;
  for (std::size_t k = 0; length != 0; ++k, length >>= 1) {
    if ((length & 1) != 0) power = multiply(power, kBytePowers[k]);
  }
  return power;
}

// Multiplies CRCs by a constant factor with one table look-up for each of a CRC's four bytes.
class Multiplier {
 public:
  constexpr explicit Multiplier(std::uint32_t factor) {
    for (std::size_t position = 0; position < rows_.size(); ++position) {
      auto& row = rows_[position];
      for (std::uint32_t bit = 0; bit < 8; ++bit)
        row[1u << bit] = multiply(1u << (8 * position + bit), factor);
      // A CRC is linear. So the entry of a byte with several set bits is the sum of two entries: the entry of
      // the lowest set bit alone, and the entry of the byte without this bit.
      for (std::uint32_t byte = 1; byte < 256; ++byte) row[byte] = row[byte & (byte - 1)] ^ row[byte & -byte];
    }
  }

  [[nodiscard]] constexpr std::uint32_t operator()(std::uint32_t crc) const {
    return rows_[0][crc & 0xFF] ^ rows_[1][(crc >> 8) & 0xFF] ^ rows_[2][(crc >> 16) & 0xFF] ^
           rows_[3][crc >> 24];
  }

 private:
  std::array<std::array<std::uint32_t, 256>, 4> rows_{};
};

using Slices = std::array<std::array<std::uint32_t, 256>, 8>;

// Row k of the table holds the CRC of each byte value followed by k zero bytes.
[[nodiscard]] constexpr Slices make_slices() {
  Slices slices{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = times_x(crc);
    slices[0][byte] = crc;
  }
  for (std::size_t k = 1; k < slices.size(); ++k) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = slices[k - 1][byte];
      slices[k][byte] = (before >> 8) ^ slices[0][before & 0xFF];
    }
  }
  return slices;
}

}  // namespace ratoon::crc32c_tables
