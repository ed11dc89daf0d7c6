// The names that safetensors gives to element types, and the order in which it stores tensors of these types.
#pragma once

#include <optional>
#include <string_view>

#include <ratoon/element_type.h>

namespace ratoon::checkpoint {

// Returns a name such as "F32". kBytes and kText are stored as "U8" and read back as kUint8.
[[nodiscard]] std::string_view safetensors_name(ElementType type);

// Returns nothing for types that this version does not support, such as F4.
[[nodiscard]] std::optional<ElementType> element_type_named(std::string_view name);

// In a file, types of higher rank come first. Wider types have higher ranks, so that every tensor begins at a
// multiple of its element size. Types with the same safetensors name have the same rank.
[[nodiscard]] int layout_rank(ElementType type);

}  // namespace ratoon::checkpoint
