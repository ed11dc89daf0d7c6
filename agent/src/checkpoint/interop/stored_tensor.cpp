#include "agent/src/checkpoint/interop/stored_tensor.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "agent/src/checkpoint/interop/tensor_source.h"

namespace ratoon::checkpoint {
namespace {

constexpr std::size_t kDimensionsMax = 64;
constexpr std::size_t kPieceBytes = std::size_t{256} << 10;

// Returns the position that the tensor's last element has in the storage, or an error if this position is not
// below `elements`, the number of elements in the storage.
Result<std::uint64_t> check_elements_in_storage(const TensorShape& shape, const TensorShape& strides,
                                                std::uint64_t offset, std::uint64_t elements) {
  std::uint64_t last = offset;
  bool is_inside = offset < elements;
  for (std::size_t i = 0; is_inside && i < shape.size(); ++i) {
    const std::uint64_t steps = shape[i] - 1;
    is_inside = steps == 0 || strides[i] <= (elements - 1 - last) / steps;
    if (is_inside) last += steps * strides[i];
  }
  if (is_inside) return last;
  return Error(ErrorKind::kCorrupted, "the tensor reaches past the " + std::to_string(elements) +
                                          " elements of its storage; get the file again");
}

// Collects small pieces of bytes and passes them on as large pieces.
class PieceGatherer {
 public:
  explicit PieceGatherer(ByteSink& sink) : sink_(sink) { gathered_.reserve(kPieceBytes); }

  Result<void> add(std::span<const std::byte> bytes) {
    if (gathered_.size() + bytes.size() > kPieceBytes)
      if (auto flushed = flush(); !flushed) return flushed;
    if (bytes.size() > kPieceBytes) return sink_.append(bytes);
    gathered_.insert(gathered_.end(), bytes.begin(), bytes.end());
    return {};
  }

  Result<void> flush() {
    auto appended = sink_.append(gathered_);
    gathered_.clear();
    return appended;
  }

 private:
  ByteSink& sink_;
  std::vector<std::byte> gathered_;
};

}  // namespace

Result<StoredTensor> StoredTensor::make(ElementType type, TensorShape shape, TensorShape strides,
                                        std::uint64_t offset, std::span<const std::byte> storage) {
  if (shape.size() != strides.size() || shape.size() > kDimensionsMax)
    return Error(ErrorKind::kCorrupted, "a tensor has " + std::to_string(shape.size()) + " dimensions and " +
                                            std::to_string(strides.size()) + " strides; get the file again");
  const auto size_bytes = size_bytes_of(type, shape);
  if (!size_bytes) return size_bytes.error();
  StoredTensor tensor;
  tensor.type_ = type;
  tensor.size_bytes_ = *size_bytes;
  if (*size_bytes == 0) {
    tensor.contiguous_dimensions_ = shape.size();
  } else {
    const std::uint64_t element_bytes = size_of(type);
    if (auto last = check_elements_in_storage(shape, strides, offset, storage.size() / element_bytes); !last)
      return last.error();
    tensor.storage_from_first_ = storage.subspan(offset * element_bytes);
    std::uint64_t run = 1;
    for (std::size_t i = shape.size(); i-- > 0; ++tensor.contiguous_dimensions_) {
      if (shape[i] != 1 && strides[i] != run) break;
      run *= shape[i];
    }
    tensor.contiguous_bytes_ = run * element_bytes;
  }
  tensor.shape_ = std::move(shape);
  tensor.strides_ = std::move(strides);
  return tensor;
}

std::span<const std::byte> StoredTensor::bytes() const {
  return storage_from_first_.first(size_bytes_);
}

Result<void> StoredTensor::write(ByteSink& sink) const {
  if (is_contiguous()) return sink.append(bytes());
  PieceGatherer gatherer(sink);
  const std::size_t outer = shape_.size() - contiguous_dimensions_;
  TensorShape at(outer, 0);
  std::uint64_t element = 0;
  for (std::size_t moved = 0; moved < outer + 1;) {
    if (auto added = gatherer.add(storage_from_first_.subspan(element * size_of(type_), contiguous_bytes_));
        !added)
      return added;
    // Continue with the next contiguous run of elements: increment the index of the last dimension, and carry
    // an overflow into the dimension before it.
    for (moved = 1; moved <= outer; ++moved) {
      const std::size_t i = outer - moved;
      element += strides_[i];
      if (++at[i] < shape_[i]) break;
      element -= strides_[i] * shape_[i];
      at[i] = 0;
    }
  }
  return gatherer.flush();
}

}  // namespace ratoon::checkpoint
