// An encoded array begins with its own description: [type: 1 byte, only if the encoding's name has no
// type] [dimensions << 2 | c: 1 byte] [each dimension: 1, 2, 4 or 8 bytes for c = 0, 1, 2, 3]
// [values]
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <ratoon/element_type.h>
#include <ratoon/result.h>

namespace ratoon::mds {

struct Array {
  ElementType type = ElementType::kBytes;
  std::uint8_t dimensions = 0;
  std::array<std::uint64_t, 63> lengths;
  std::span<const std::byte> values{};

  [[nodiscard]] std::span<const std::uint64_t> shape() const { return std::span(lengths).first(dimensions); }
};

// `type` is the type in the encoding's name, or kBytes if the name has no type.
[[nodiscard]] Result<Array> read_array(ElementType type, std::span<const std::byte> bytes);

// Returns the byte that represents a type of numbers, or 0 for other types.
[[nodiscard]] std::uint8_t array_type_code(ElementType type);

}  // namespace ratoon::mds
