// The names that safetensors gives to element types, and the order in which it stores tensors of these types.
#pragma once

#include <optional>
#include <string_view>

#include <ratoon/element_type.h>

namespace ratoon::checkpoint {

// Returns a name such as "F32". kBytes and kText are stored as "U8" and read back as kUint8.
[[nodiscard]] std::string_view safetensors_name(ElementType type);

// Returns nothing for safetensors types that this version of Ratoon does not support, such as F4.
[[nodiscard]] std::optional<ElementType> element_type_named(std::string_view name);

// Returns the number of a type in the order of safetensors. A file stores tensors of types with
// higher numbers first. Types with larger elements have higher numbers, so that every tensor begins
// at a multiple of its element size. Two element types with the same safetensors name have the same
// number.
[[nodiscard]] int storage_order(ElementType type);

}  // namespace ratoon::checkpoint
