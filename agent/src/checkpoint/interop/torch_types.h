// The names of element types in PyTorch's files, such as "float32" and "FloatStorage".
#pragma once

#include <optional>
#include <string_view>

#include <ratoon/element_type.h>

namespace ratoon::checkpoint {

struct TorchType {
  ElementType type;
  std::string_view dtype;    // torch.<dtype>
  std::string_view storage;  // torch.<storage>; empty: a newer type, whose storages are untyped
};

// Returns nothing for Ratoon's element types bytes and text, which PyTorch does not have.
[[nodiscard]] std::optional<TorchType> torch_type_of(ElementType type);
[[nodiscard]] std::optional<TorchType> torch_type_of_dtype(std::string_view dtype);
[[nodiscard]] std::optional<TorchType> torch_type_of_storage(std::string_view storage);

}  // namespace ratoon::checkpoint
