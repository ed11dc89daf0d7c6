// Reads and writes little-endian numbers, as zip files, pickles and safetensors contain them, at any address.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>

namespace ratoon::checkpoint {

static_assert(std::endian::native == std::endian::little,
              "expected a little-endian processor: tensors are written in its byte order");

template <std::integral T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// The caller must have checked that `bytes` is long enough for the number.
template <std::integral T>
[[nodiscard]] T get(std::span<const std::byte> bytes, std::size_t offset = 0) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

}  // namespace ratoon::checkpoint
