// Copies rows of bytes from a saved part of a tensor to memory that holds another part of the same tensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <ratoon/tensor_view.h>

namespace ratoon::checkpoint {

// One loop of the nested loops over the rows of a copy.
struct CopyLoop {
  std::uint64_t count = 0;
  std::uint64_t from_stride = 0;  // bytes
  std::uint64_t to_stride = 0;

  friend bool operator==(const CopyLoop&, const CopyLoop&) = default;
};

// In the source and in the destination, rows have ascending offsets and do not overlap: a stride is at least
// the number of bytes that the inner loops span.
struct StridedCopy {
  std::uint64_t from = 0;  // position of the first row
  std::uint64_t to = 0;
  std::uint64_t row_bytes = 0;
  std::uint32_t first_loop = 0;  // in a list of loops that copies share, the outermost first
  std::uint32_t loop_count = 0;
  std::uint64_t source_end = 0;  // end of the last row

  friend bool operator==(const StridedCopy&, const StridedCopy&) = default;
};

// The position of a box of elements inside a larger box.
struct BoxLayout {
  std::span<const std::uint64_t> begin;  // of the block, in the outer box
  std::span<const std::uint64_t> outer;  // shape
  std::uint64_t first_byte = 0;          // position of the outer box
};

// Returns a plan that copies a box of `shape` from one position to another, with as few rows as possible.
// Appends the loops of the plan to `loops`. Every length in `shape` must be greater than 0.
[[nodiscard]] StridedCopy make_copy(std::span<const std::uint64_t> shape, const BoxLayout& from,
                                    const BoxLayout& to, std::uint64_t element_bytes,
                                    std::vector<CopyLoop>& loops);

// Copies to the destination those rows, or parts of rows, whose source is in `bytes`. `begin` is the position
// of the first byte of `bytes`, in bytes from the same origin as StridedCopy::from.
void copy_rows(const StridedCopy& copy, std::span<const CopyLoop> loops, std::uint64_t begin,
               std::span<const std::byte> bytes, std::span<std::byte> destination);

}  // namespace ratoon::checkpoint
