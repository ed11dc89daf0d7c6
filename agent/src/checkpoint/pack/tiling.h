// Checks whether boxes tile a region: every element lies in exactly one box.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <ratoon/tensor_view.h>

namespace ratoon::checkpoint {

// A list of boxes with the same number of dimensions, in one allocation: there may be millions of boxes.
class BoxList {
 public:
  explicit BoxList(std::size_t dimensions) : dimensions_(dimensions) {}

  // Adds the box that contains the elements whose index is at least `begin` and less than `end` in each
  // dimension. Both `begin` and `end` have one number per dimension.
  void add(std::span<const std::uint64_t> begin, std::span<const std::uint64_t> end);

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t dimensions() const { return dimensions_; }
  [[nodiscard]] std::uint64_t begin(std::size_t box, std::size_t dimension) const {
    return corners_[2 * dimensions_ * box + dimension];
  }
  [[nodiscard]] std::uint64_t end(std::size_t box, std::size_t dimension) const {
    return corners_[2 * dimensions_ * box + dimensions_ + dimension];
  }

 private:
  std::size_t dimensions_;
  std::size_t size_ = 0;
  std::vector<std::uint64_t> corners_;
};

struct TilingFault {
  TensorShape element;      // the first one, in row-major order, that is not in exactly one box
  std::uint64_t times = 0;  // in how many boxes it is
};

// Returns nothing if the boxes tile the region. Every box must be inside the region. Boxes without elements
// are ignored. The check is exact, and takes time in O(n log n) for n boxes. The time of the check doubles
// with each dimension along which the region is cut into boxes.
[[nodiscard]] std::optional<TilingFault> find_tiling_fault(const BoxList& boxes,
                                                           std::span<const std::uint64_t> region_begin,
                                                           std::span<const std::uint64_t> region_end);

}  // namespace ratoon::checkpoint
