#include "agent/src/checkpoint/interop/zip/crc32.h"

#include <array>
#include <cstring>

namespace ratoon::checkpoint {
namespace {

constexpr std::uint32_t kPolynomial = 0xEDB88320;
constexpr std::size_t kStride = 16;

// Entry [k][v] of the table is the CRC of the byte v followed by k zero bytes.
constexpr auto kSlices = [] {
  std::array<std::array<std::uint32_t, 256>, kStride> slices{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    slices[0][byte] = crc;
  }
  for (std::size_t k = 1; k < kStride; ++k) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = slices[k - 1][byte];
      slices[k][byte] = (before >> 8) ^ slices[0][before & 0xFF];
    }
  }
  return slices;
}();

std::uint32_t look_up(std::size_t row, std::uint64_t word, int byte) {
  return kSlices[row][(word >> (8 * byte)) & 0xFF];
}

}  // namespace

std::uint32_t crc32(std::span<const std::byte> data, std::uint32_t crc) {
  crc = ~crc;
  const std::byte* at = data.data();
  std::size_t left = data.size();
  for (; left >= kStride; at += kStride, left -= kStride) {
    std::uint64_t low = 0, high = 0;
    std::memcpy(&low, at, sizeof low);
    std::memcpy(&high, at + sizeof low, sizeof high);
    low ^= crc;
    crc = look_up(15, low, 0) ^ look_up(14, low, 1) ^ look_up(13, low, 2) ^ look_up(12, low, 3) ^
          look_up(11, low, 4) ^ look_up(10, low, 5) ^ look_up(9, low, 6) ^ look_up(8, low, 7) ^
          look_up(7, high, 0) ^ look_up(6, high, 1) ^ look_up(5, high, 2) ^ look_up(4, high, 3) ^
          look_up(3, high, 4) ^ look_up(2, high, 5) ^ look_up(1, high, 6) ^ look_up(0, high, 7);
  }
  for (; left > 0; ++at, --left)
    crc = (crc >> 8) ^ kSlices[0][(crc ^ std::to_integer<std::uint32_t>(*at)) & 0xFF];
  return ~crc;
}

}  // namespace ratoon::checkpoint
