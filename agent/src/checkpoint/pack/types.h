// What safetensors calls the types of elements, and the order in which it lays them out.
#pragma once

#include <optional>
#include <string_view>

#include <ratoon/element_type.h>

namespace ratoon::checkpoint {

// "F32". Bytes and text are "U8" to others: they come back as kUint8.
[[nodiscard]] std::string_view safetensors_name(ElementType type);

// None for types that this version does not hold, such as F4.
[[nodiscard]] std::optional<ElementType> element_type_named(std::string_view name);

// Types of higher rank lie before those of lower rank in a file, the widest first, so that every tensor
// begins at a multiple of its element's size. Types of one safetensors name have one rank.
[[nodiscard]] int layout_rank(ElementType type);

}  // namespace ratoon::checkpoint
