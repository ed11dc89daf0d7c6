#include "agent/src/checkpoint/load/plan_piece.h"

#include <algorithm>

namespace ratoon::checkpoint {
namespace {

std::uint64_t block_floor(std::uint64_t byte) {
  return byte / kPackBlockBytes * kPackBlockBytes;
}

// Returns the first position at or after `end` that is neither inside a block to verify nor inside a tensor
// that is verified by its hash.
std::uint64_t next_cut_position(const PackLayout& layout, const Extent& extent, std::uint64_t end) {
  const std::uint64_t blocks_begin = extent.first_block * kPackBlockBytes;
  const std::uint64_t blocks_end = blocks_begin + extent.block_count * kPackBlockBytes;
  auto tensor = extent.hashed.begin();
  while (end < extent.end) {
    const std::uint64_t before = end;
    if (blocks_begin < end && end < blocks_end && end % kPackBlockBytes != 0)
      end = block_floor(end) + kPackBlockBytes;
    tensor = std::find_if(tensor, extent.hashed.end(),
                          [&](std::uint32_t number) { return layout.tensors[number].end > end; });
    if (tensor != extent.hashed.end() && layout.tensors[*tensor].begin < end)
      end = layout.tensors[*tensor].end;
    if (end == before) return end;
  }
  return extent.end;
}

}  // namespace

Extent cut_piece(const PackLayout& layout, const PackReads& reads, const Extent& extent, std::uint64_t begin,
                 std::uint64_t bytes_max) {
  const std::uint64_t rest = extent.end - begin;
  // Let a piece end at a block boundary if possible: a page that two pieces share would be read twice.
  const std::uint64_t wished = block_floor(begin + bytes_max);
  Extent piece{.begin = begin, .end = extent.end};
  if (rest > bytes_max && wished > begin) piece.end = next_cut_position(layout, extent, wished);

  for (const std::uint32_t number : extent.hashed) {
    const PackedTensor& tensor = layout.tensors[number];
    if (tensor.begin >= begin && tensor.end <= piece.end) piece.hashed.push_back(number);
  }
  if (extent.block_count != 0) {
    const std::uint64_t last = extent.first_block + extent.block_count;
    piece.first_block = std::clamp((begin + kPackBlockBytes - 1) / kPackBlockBytes, extent.first_block, last);
    const std::uint64_t end = piece.end == extent.end ? last : piece.end / kPackBlockBytes;
    piece.block_count = std::clamp(end, piece.first_block, last) - piece.first_block;
  }
  for (const std::uint32_t number : extent.copies) {
    const StridedCopy& copy = reads.copies[number].copy;
    if (copy.from < piece.end && copy.source_end > begin) piece.copies.push_back(number);
  }
  return piece;
}

}  // namespace ratoon::checkpoint
