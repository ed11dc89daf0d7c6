// TensorBytes: a LibTorch tensor as a name, an element type (by its safetensors name), a shape and plain
// bytes.
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
  std::string_view dtype{};           // "F32", "BF16", "I64", "BOOL", ...: a literal
  std::vector<std::int64_t> shape{};  // empty for a scalar
  // The bytes of the tensor, row-major and little-endian. They are not a copy, so later writes to the tensor
  // change them.
  std::span<const std::byte> bytes{};
  at::Tensor owner{};  // keeps that memory alive
};

// Returns safetensors' name of an element type, or an error if safetensors has no name for it.
[[nodiscard]] Result<std::string_view> safetensors_dtype(at::ScalarType type);

// Returns LibTorch's element type for a safetensors name, such as "F32".
[[nodiscard]] Result<at::ScalarType> element_type_of(std::string_view dtype);

// Returns the bytes of a dense, contiguous CPU tensor without a copy. Returns an error that names the tensor
// if the tensor is undefined, on another device, sparse, quantised, nested, not contiguous, lazily conjugated
// or negated, or if safetensors has no name for its element type.
[[nodiscard]] Result<TensorBytes> bytes_of(std::string name, const at::Tensor& tensor);

// Returns the bytes of a tensor like bytes_of(), but first copies a tensor that is on another device or not
// contiguous. Returns an error for tensors that cannot be converted (undefined, sparse, quantised, ...).
[[nodiscard]] Result<TensorBytes> bytes_of_copy(std::string name, const at::Tensor& tensor);

}  // namespace ratoon
