// checkpoint/pack/: Arithmetic of boxes: which bytes of which packs make up a wanted tensor. Pure.
//
// The plan by which a rank reads its tensors from a checkpoint that any number of ranks wrote.
//
//   plan_reads -> for each pack: extents of the file, read in any order and on any thread; for each extent
//   verify_extent, then copy_extent.
//
// Each extent is verified by itself. Tensors that are read whole are compared with their XXH3-128. Slices,
// and whole tensors if few bytes are added, are verified by the blocks that they touch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/checkpoint/pack/header/header.h"
#include "agent/src/checkpoint/pack/part_index.h"
#include "agent/src/checkpoint/pack/strided_copy.h"

namespace ratoon::checkpoint {

inline constexpr std::uint64_t kExtentBytesMax = 16 * 1024 * 1024;

struct WantedCopy {
  StridedCopy copy;          // from the pack's data to the wanted tensor
  std::uint32_t tensor = 0;  // its number in the pack
  std::uint32_t wanted = 0;  // number of the wanted tensor
};

struct Extent {
  std::uint64_t begin = 0;  // in the pack's data, which begins at header_bytes of the file
  std::uint64_t end = 0;
  std::uint64_t first_block = 0;  // the blocks to verify, all of them inside the extent
  std::uint64_t block_count = 0;
  std::vector<std::uint32_t> hashed{};  // tensors to verify, all of them inside the extent
  std::vector<std::uint32_t> copies{};  // numbers in PackReads::copies of the copies that use it
};

struct PackReads {
  std::uint32_t pack = 0;
  std::vector<Extent> extents;  // ascending, without overlap
  std::vector<WantedCopy> copies;
};

struct ReadPlan {
  std::vector<PackReads> packs;  // ascending; without packs that are not read
  std::vector<CopyLoop> loops;
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_wanted = 0;
};

// `reader` is the rank that reads. If several packs have the same bytes, the plan takes the bytes from the
// pack with the reader's own number. If the reader's own pack lacks the bytes, different readers choose
// different packs. Refuses tensors whose name, type or whole shape is not in the checkpoint, and elements
// that no pack has.
[[nodiscard]] Result<ReadPlan> plan_reads(const PartIndex& index, std::span<const TensorSpec> wanted,
                                          std::uint32_t reader);

// `bytes` are the bytes of the extent. The error names the block or the tensor.
[[nodiscard]] Result<void> verify_extent(const PackHeader& pack, const Extent& extent,
                                         std::span<const std::byte> bytes);

// `destinations` are the bytes of the wanted tensors, by number.
void copy_extent(const ReadPlan& plan, const PackReads& reads, const Extent& extent,
                 std::span<const std::byte> bytes, std::span<const std::span<std::byte>> destinations);

}  // namespace ratoon::checkpoint
