// Numbers in MDS files: little-endian, aligned or not.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ratoon::mds {

static_assert(std::endian::native == std::endian::little, "shards are little-endian, and so are fields");

template <class T = std::uint32_t>
[[nodiscard]] T read_number(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace ratoon::mds
