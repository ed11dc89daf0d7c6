// Rows of bytes from a part of a tensor to where someone wants them: what is cut out of one box and put into
// another one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <ratoon/tensor_view.h>

namespace ratoon::checkpoint {

// One level of a nest of loops around a row.
struct CopyLoop {
  std::uint64_t count = 0;
  std::uint64_t from_stride = 0;  // bytes
  std::uint64_t to_stride = 0;

  friend bool operator==(const CopyLoop&, const CopyLoop&) = default;
};

// Rows lie in ascending order on both sides and do not overlap: a stride is never less than what is inside
// it.
struct StridedCopy {
  std::uint64_t from = 0;  // of the first row
  std::uint64_t to = 0;
  std::uint64_t row_bytes = 0;
  std::uint32_t first_loop = 0;  // of a list of loops that many copies share, the outermost first
  std::uint32_t loop_count = 0;
  std::uint64_t from_end = 0;  // behind the last row

  friend bool operator==(const StridedCopy&, const StridedCopy&) = default;
};

// Where rows of `shape` elements, cut out of `outer`, begin, in bytes.
struct BoxPlace {
  std::span<const std::uint64_t> begin;  // in the outer box
  std::span<const std::uint64_t> outer;  // shape
  std::uint64_t first_byte = 0;          // of the outer box
};

// The copy of `shape` elements between two places, with as few and as long rows as there can be. The shape
// has no zero. Loops are appended.
[[nodiscard]] StridedCopy make_copy(std::span<const std::uint64_t> shape, const BoxPlace& from,
                                    const BoxPlace& to, std::uint64_t element_bytes,
                                    std::vector<CopyLoop>& loops);

// Copies what the bytes have of it: `bytes` are those from `begin` on, counted as `from` is. Rows that lie
// there in part are copied in part.
void copy_rows(const StridedCopy& copy, std::span<const CopyLoop> loops, std::uint64_t begin,
               std::span<const std::byte> bytes, std::span<std::byte> destination);

}  // namespace ratoon::checkpoint
