// checkpoint/interop/ reads and writes the files of other programs: PyTorch's .pt files and safetensors
// files. The functions in interop/ are pure.
//
// TensorSource: a tensor that is to be written into a file for another program. A TensorSource provides its
// bytes only when they are written, so that a state larger than memory can be written.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include <ratoon/result.h>
#include <ratoon/tensor_view.h>

#include "agent/src/checkpoint/interop/byte_sink.h"

namespace ratoon::checkpoint {

struct TensorSource {
  std::string name;
  ElementType type = ElementType::kUint8;
  TensorShape shape{};
  // Appends the tensor's bytes to a sink in row-major order and little-endian, in pieces of any size. write()
  // is called at most once.
  std::function<Result<void>(ByteSink&)> write{};
};

// The view's bytes must stay valid until the source is written. The view must cover a whole tensor, not a
// part of a tensor.
[[nodiscard]] Result<TensorSource> source_of(const TensorView& view);

// Returns the number of bytes of a tensor, or an error if that number is over 2^62.
[[nodiscard]] Result<std::uint64_t> size_bytes_of(ElementType type, const TensorShape& shape);

// Checks that names are UTF-8 and unique.
[[nodiscard]] Result<void> check_names(std::span<const TensorSource> tensors);

}  // namespace ratoon::checkpoint
