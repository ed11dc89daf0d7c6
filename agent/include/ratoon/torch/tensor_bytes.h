// A tensor as checkpoints see it: a name, an element type by safetensors' name, a shape and plain bytes.
//
//   const auto weight = ratoon::bytes_of_copy("weight", net->weight);
//   if (!weight) return weight.error();
//   write(weight->name, weight->dtype, weight->shape, weight->bytes);
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include <ratoon/result.h>

namespace ratoon {

struct TensorBytes {
  std::string name{};
  std::string_view dtype{};            // "F32", "BF16", "I64", "BOOL", ...: a literal
  std::vector<std::int64_t> shape{};   // empty for a scalar
  std::span<const std::byte> bytes{};  // row-major, little-endian: the tensor's memory, later writes show
  at::Tensor owner{};                  // keeps that memory alive
};

// safetensors' name of an element type, or an error for the types that it has none for.
[[nodiscard]] Result<std::string_view> safetensors_dtype(at::ScalarType type);

// The element type that safetensors has under this name.
[[nodiscard]] Result<at::ScalarType> element_type_of(std::string_view dtype);

// Views a dense, contiguous CPU tensor; copies nothing. Anything else is refused with a sentence that names
// the tensor: undefined, on another device, sparse, quantised, nested, not contiguous, lazily conjugated or
// negated, or of an element type that safetensors cannot name.
[[nodiscard]] Result<TensorBytes> bytes_of(std::string name, const at::Tensor& tensor);

// The same values as a tensor that bytes_of takes; the tensor itself where it is one already. What it cannot
// help with (undefined, sparse, quantised, ...) it refuses as bytes_of does.
[[nodiscard]] Result<TensorBytes> bytes_of_copy(std::string name, const at::Tensor& tensor);

}  // namespace ratoon
