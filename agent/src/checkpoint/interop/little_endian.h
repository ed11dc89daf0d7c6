// Numbers in the byte order of zip files, pickles and safetensors: little-endian, aligned or not.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>

namespace ratoon::checkpoint {

static_assert(std::endian::native == std::endian::little, "tensors are stored as they lie in memory");

template <std::integral T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// The caller has checked that the bytes exist.
template <std::integral T>
[[nodiscard]] T get(std::span<const std::byte> bytes, std::size_t offset = 0) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

}  // namespace ratoon::checkpoint
