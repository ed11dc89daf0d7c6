// A tensor as checkpoints describe it: a name, safetensors' name of the element type, a shape and plain
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
  // Row-major and little-endian. The span is a view: later writes to the tensor change it.
  std::span<const std::byte> bytes{};
  at::Tensor owner{};  // keeps that memory alive
};

// Returns safetensors' name of an element type, or an error if safetensors has no name for it.
[[nodiscard]] Result<std::string_view> safetensors_dtype(at::ScalarType type);

// Returns the element type with this name in safetensors.
[[nodiscard]] Result<at::ScalarType> element_type_of(std::string_view dtype);

// Views a dense, contiguous CPU tensor; copies nothing. Refuses other tensors with a message that names the
// tensor: undefined, on another device, sparse, quantised, nested, not contiguous, lazily conjugated or
// negated, or of an element type without a name in safetensors.
[[nodiscard]] Result<TensorBytes> bytes_of(std::string name, const at::Tensor& tensor);

// Returns the same values as a tensor that bytes_of() accepts, or the tensor itself if bytes_of() accepts it.
// Refuses tensors that it cannot convert (undefined, sparse, quantised, ...) as bytes_of() does.
[[nodiscard]] Result<TensorBytes> bytes_of_copy(std::string name, const at::Tensor& tensor);

}  // namespace ratoon
