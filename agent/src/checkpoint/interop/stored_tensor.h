// StoredTensor: a tensor of a foreign file as it lies in its storage, with strides as PyTorch has them.
// Checked when it is made: every element it names is in its storage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ratoon/result.h>
#include <ratoon/tensor_view.h>

#include "agent/src/checkpoint/interop/byte_sink.h"

namespace ratoon::checkpoint {

class StoredTensor {
 public:
  // Strides and offset count elements. The storage's bytes stay where they are as long as the tensor.
  [[nodiscard]] static Result<StoredTensor> make(ElementType type, TensorShape shape, TensorShape strides,
                                                 std::uint64_t offset, std::span<const std::byte> storage);

  [[nodiscard]] ElementType type() const { return type_; }
  [[nodiscard]] const TensorShape& shape() const { return shape_; }
  // Row-major and without holes. Larger than its storage where a stride is 0 (an expanded tensor).
  [[nodiscard]] std::uint64_t size_bytes() const { return size_bytes_; }

  // Whether the elements lie in the storage row-major and without holes: then bytes() are all there is to
  // copy.
  [[nodiscard]] bool is_contiguous() const { return run_dimensions_ == shape_.size(); }
  // Only where it is contiguous.
  [[nodiscard]] std::span<const std::byte> bytes() const;
  // Appends the elements row-major and without holes, in pieces of bounded size, contiguous or not.
  [[nodiscard]] Result<void> write(ByteSink& sink) const;

 private:
  StoredTensor() = default;

  ElementType type_ = ElementType::kUint8;
  TensorShape shape_;
  TensorShape strides_;
  std::uint64_t size_bytes_ = 0;
  std::span<const std::byte> first_;  // the storage from the first element on
  std::size_t run_dimensions_ = 0;    // the last ones, that together lie without holes
  std::uint64_t run_bytes_ = 0;
};

}  // namespace ratoon::checkpoint
