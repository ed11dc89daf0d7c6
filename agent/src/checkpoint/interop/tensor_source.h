// TensorSource: a tensor that is written into a file of another format, its bytes handed over when their turn
// comes, so that a state larger than memory can be written.
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
  // Appends the tensor's bytes, row-major and little-endian, in pieces of any size; called once.
  std::function<Result<void>(ByteSink&)> write{};
};

// The view's bytes stay where they are until the source was written. The view is a whole tensor.
[[nodiscard]] Result<TensorSource> source_of(const TensorView& view);

// Bytes that a tensor takes; an error where that is over 2^62.
[[nodiscard]] Result<std::uint64_t> size_bytes_of(ElementType type, const TensorShape& shape);

// Names are UTF-8, and no two are the same.
[[nodiscard]] Result<void> check_names(std::span<const TensorSource> tensors);

}  // namespace ratoon::checkpoint
