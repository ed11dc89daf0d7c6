// An encoded array begins with a description of its type and shape, before its values. The description begins
// with one byte for the type, unless the encoding's name contains the type. The next byte is (number of
// dimensions << 2 | c). The lengths of the dimensions follow, each with 2^c bytes (c = 0 to 3).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <ratoon/element_type.h>
#include <ratoon/result.h>

namespace ratoon::mds {

struct DecodedArray {
  ElementType type = ElementType::kBytes;
  std::uint8_t dimensions = 0;
  std::array<std::uint64_t, 63> lengths;
  std::span<const std::byte> values{};

  [[nodiscard]] std::span<const std::uint64_t> shape() const { return std::span(lengths).first(dimensions); }
};

// `type` is the element type that the name of the encoding contains, or kBytes if the name contains none.
[[nodiscard]] Result<DecodedArray> read_array(ElementType type, std::span<const std::byte> bytes);

// Returns the byte that represents a numeric type in an encoded array, or 0 for other types.
[[nodiscard]] std::uint8_t array_type_code(ElementType type);

}  // namespace ratoon::mds
