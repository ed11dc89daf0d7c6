// Copies rows of bytes from one box into another: from a part of a tensor to a destination of another shape.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <ratoon/tensor_view.h>

namespace ratoon::checkpoint {

// One level of the nested loops over the rows.
struct CopyLoop {
  std::uint64_t count = 0;
  std::uint64_t from_stride = 0;  // bytes
  std::uint64_t to_stride = 0;

  friend bool operator==(const CopyLoop&, const CopyLoop&) = default;
};

// Rows ascend on both sides and do not overlap: a stride is never less than the extent of the inner loops.
struct StridedCopy {
  std::uint64_t from = 0;  // position of the first row
  std::uint64_t to = 0;
  std::uint64_t row_bytes = 0;
  std::uint32_t first_loop = 0;  // in a list of loops that copies share, the outermost first
  std::uint32_t loop_count = 0;
  std::uint64_t from_end = 0;  // end of the last row

  friend bool operator==(const StridedCopy&, const StridedCopy&) = default;
};

// The position of a block of `shape` elements inside a larger box.
struct BoxLayout {
  std::span<const std::uint64_t> begin;  // of the block, in the outer box
  std::span<const std::uint64_t> outer;  // shape
  std::uint64_t first_byte = 0;          // position of the outer box
};

// Returns the copy of a box of `shape` between two positions, in as few rows as possible, and appends the
// copy's loops to `loops`. No length in `shape` is 0.
[[nodiscard]] StridedCopy make_copy(std::span<const std::uint64_t> shape, const BoxLayout& from,
                                    const BoxLayout& to, std::uint64_t element_bytes,
                                    std::vector<CopyLoop>& loops);

// Copies the rows, or parts of rows, that `bytes` contain. `bytes` begin at position `begin`, counted like
// StridedCopy::from.
void copy_rows(const StridedCopy& copy, std::span<const CopyLoop> loops, std::uint64_t begin,
               std::span<const std::byte> bytes, std::span<std::byte> destination);

}  // namespace ratoon::checkpoint
