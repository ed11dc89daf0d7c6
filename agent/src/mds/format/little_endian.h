// Reads a number of an MDS file, which is little-endian and may be unaligned.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ratoon::mds {

static_assert(std::endian::native == std::endian::little,
              "MDS files are little-endian, and so must be the processor");

template <class T = std::uint32_t>
[[nodiscard]] T read_little_endian(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace ratoon::mds
