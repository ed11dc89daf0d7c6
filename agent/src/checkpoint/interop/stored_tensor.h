// StoredTensor: a tensor in a file of another program, as a view of its storage with PyTorch's strides.
// make() checks that every element is in the storage.
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
  // Strides and offset are numbers of elements, not of bytes. The bytes of the storage must stay valid until
  // the StoredTensor is destroyed.
  [[nodiscard]] static Result<StoredTensor> make(ElementType type, TensorShape shape, TensorShape strides,
                                                 std::uint64_t offset, std::span<const std::byte> storage);

  [[nodiscard]] ElementType type() const { return type_; }
  [[nodiscard]] const TensorShape& shape() const { return shape_; }
  // The number of elements times the size of one element, in bytes. size_bytes() may exceed the size of the
  // storage if a stride is 0 (an expanded tensor).
  [[nodiscard]] std::uint64_t size_bytes() const { return size_bytes_; }

  // Returns true if the elements are in the storage in row-major order and without gaps, so that bytes()
  // returns the whole tensor.
  [[nodiscard]] bool is_contiguous() const { return contiguous_dimensions_ == shape_.size(); }
  // Call bytes() only if is_contiguous() returns true.
  [[nodiscard]] std::span<const std::byte> bytes() const;
  // Appends all elements to `sink` in row-major order and without gaps, in pieces of bounded size, even if
  // the tensor is not contiguous.
  [[nodiscard]] Result<void> write(ByteSink& sink) const;

 private:
  StoredTensor() = default;

  ElementType type_ = ElementType::kUint8;
  TensorShape shape_;
  TensorShape strides_;
  std::uint64_t size_bytes_ = 0;
  std::span<const std::byte> storage_from_first_;  // the storage from the first element on
  std::size_t contiguous_dimensions_ =
      0;  // the number of last dimensions without holes between their elements
  std::uint64_t contiguous_bytes_ = 0;
};

}  // namespace ratoon::checkpoint
