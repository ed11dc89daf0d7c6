// Shapes and boxes as arithmetic: no product or sum of these wraps around.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <ratoon/tensor_view.h>

namespace ratoon::checkpoint {

inline constexpr std::size_t kDimensionsMax = 64;  // what PyTorch and NumPy hold

// None: more than 2^63 - 1 in all, also where only the lengths that are not 0 say so. Tensors of other
// programs have lengths and strides of 63 bits, and a stride is the product of the lengths behind it: a 0
// beside them mends nothing.
[[nodiscard]] std::optional<std::uint64_t> count_bytes(ElementType type, const TensorShape& shape);

// Whether a part of this shape lies inside the box's whole at the box's place.
[[nodiscard]] bool holds(const TensorBox& box, const TensorShape& shape);

[[nodiscard]] std::string to_text(const TensorShape& shape);  // "8,16", "" of a single number
[[nodiscard]] std::string to_text(const TensorBox& box);      // "4,0 of 8,16"
// Reads what to_text writes and no other spelling.
[[nodiscard]] std::optional<TensorBox> parse_box(std::string_view text);

// 'name', as messages show it: long names are cut.
[[nodiscard]] std::string in_quotes(std::string_view name);

}  // namespace ratoon::checkpoint
