#include "base/core/crc32c.h"

#include <cstdlib>

#include "base/core/crc32c_tables.h"

namespace ratoon {

namespace {

constexpr auto kSlices = crc32c_tables::make_slices();

std::uint32_t add_byte(std::uint32_t crc, std::byte byte) {
  return (crc >> 8) ^ kSlices[0][(crc ^ std::to_integer<std::uint32_t>(byte)) & 0xFF];
}

// Reads single bytes, so that the result is right on either endianness; compilers merge the single reads into
// one.
std::uint32_t load_little_endian(const std::byte* at) {
  return std::to_integer<std::uint32_t>(at[0]) | std::to_integer<std::uint32_t>(at[1]) << 8 |
         std::to_integer<std::uint32_t>(at[2]) << 16 | std::to_integer<std::uint32_t>(at[3]) << 24;
}

}  // namespace

std::uint32_t crc32c_ways::portable(std::span<const std::byte> data, std::uint32_t crc) {
  crc = ~crc;
  for (; data.size() >= 8; data = data.subspan(8)) {
    const std::uint32_t low = crc ^ load_little_endian(data.data());
    const std::uint32_t high = load_little_endian(data.data() + 4);
    crc = kSlices[7][low & 0xFF] ^ kSlices[6][(low >> 8) & 0xFF] ^ kSlices[5][(low >> 16) & 0xFF] ^
          kSlices[4][low >> 24] ^ kSlices[3][high & 0xFF] ^ kSlices[2][(high >> 8) & 0xFF] ^
          kSlices[1][(high >> 16) & 0xFF] ^ kSlices[0][high >> 24];
  }
  for (const std::byte byte : data) crc = add_byte(crc, byte);
  return ~crc;
}

#ifndef __x86_64__
bool crc32c_ways::has_hardware() {
  return false;
}
std::uint32_t crc32c_ways::hardware(std::span<const std::byte>, std::uint32_t) {
  std::abort();
}
#endif

std::uint32_t crc32c(std::span<const std::byte> data, std::uint32_t crc) {
  static const auto best = crc32c_ways::has_hardware() ? crc32c_ways::hardware : crc32c_ways::portable;
  return best(data, crc);
}

// A CRC inverts its bits at the start and at the end. In the CRC of two joined texts the inner inversions
// cancel out, so this CRC is CRC a times a power of x, plus CRC b.
std::uint32_t crc32c_combine(std::uint32_t a, std::uint32_t b, std::uint64_t length_b) {
  return crc32c_tables::multiply(a, crc32c_tables::power_of_bytes(length_b)) ^ b;
}

}  // namespace ratoon
