// Functions that compute with shapes and boxes, and detect overflow: no product or sum wraps around. A box is
// the position of a part in a whole tensor.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <ratoon/tensor_view.h>

namespace ratoon::checkpoint {

inline constexpr std::size_t kDimensionsMax = 64;  // the limit of PyTorch and NumPy

// Returns nothing if the product of all lengths other than 0 exceeds 2^63 - 1 bytes. The limit of 2^63 - 1
// also applies to a shape without elements, because other programs store strides in 63 bits. The stride of a
// dimension is the product of the lengths of all dimensions after it.
[[nodiscard]] std::optional<std::uint64_t> count_bytes(ElementType type, const TensorShape& shape);

// Returns true if a part of this shape, placed at box.begin, is inside a tensor of the shape box.whole_shape.
[[nodiscard]] bool box_holds(const TensorBox& box, const TensorShape& shape);

[[nodiscard]] std::string to_text(const TensorShape& shape);  // "8,16"; "" for a scalar
[[nodiscard]] std::string to_text(const TensorBox& box);      // "4,0 of 8,16"
// Parses a box; accepts only texts that to_text() can return.
[[nodiscard]] std::optional<TensorBox> parse_box(std::string_view text);

// Returns the name in single quotes, for error messages. Names that are too long for a message are shortened.
[[nodiscard]] std::string in_quotes(std::string_view name);

}  // namespace ratoon::checkpoint
