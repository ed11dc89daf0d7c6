// An array that describes itself:
//   [type: 1 byte, where the encoding's name has none]
//   [dimensions << 2 | c: 1 byte] [each dimension: 1, 2, 4 or 8 bytes for c = 0, 1, 2, 3] [values]
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

// `type` is what the encoding's name says, kBytes where it says none.
[[nodiscard]] Result<Array> read_array(ElementType type, std::span<const std::byte> bytes);

// The byte that stands for a type of numbers.
[[nodiscard]] std::uint8_t array_type_code(ElementType type);

}  // namespace ratoon::mds
