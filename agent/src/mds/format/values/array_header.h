// Before its values an encoded array has a description of itself. It begins with one byte for the type, but
// only if the name of the encoding contains no type. The next byte is (number of dimensions << 2 | c). Each
// dimension follows, in 1, 2, 4 or 8 bytes for c = 0, 1, 2 or 3.
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

// `type` is the element type that the name of the encoding contains, or kBytes if the name contains none.
[[nodiscard]] Result<Array> read_array(ElementType type, std::span<const std::byte> bytes);

// Returns the byte that represents a numeric type in an encoded array, or 0 for other types.
[[nodiscard]] std::uint8_t array_type_code(ElementType type);

}  // namespace ratoon::mds
