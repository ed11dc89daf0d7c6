// What a rank reads of a checkpoint to fill its tensors, whatever the number of ranks that wrote it.
//
//   plan_reads -> for each pack: extents of the file, read in any order and on any thread; for each of them
//   verify_extent, then copy_extent.
//
// An extent vouches for itself: parts that are read whole are compared with their XXH3-128 or, where that
// reads hardly more, like slices by the blocks that they touch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/checkpoint/pack/header.h"
#include "agent/src/checkpoint/pack/part_index.h"
#include "agent/src/checkpoint/pack/strided_copy.h"

namespace ratoon::checkpoint {

inline constexpr std::uint64_t kExtentBytesMax = 16 * 1024 * 1024;

struct WantedCopy {
  StridedCopy copy;          // from the pack's data to the wanted tensor
  std::uint32_t tensor = 0;  // of the pack
  std::uint32_t wanted = 0;  // number of the wanted tensor
};

struct Extent {
  std::uint64_t begin = 0;  // in the pack's data: the file has it header_bytes later
  std::uint64_t end = 0;
  std::uint64_t first_block = 0;  // blocks that lie in it whole and are to be verified
  std::uint64_t block_count = 0;
  std::vector<std::uint32_t> hashed{};  // tensors of the pack that lie in it whole and are to be verified
  std::vector<std::uint32_t> copies{};  // of PackReads, that take something from it
};

struct PackReads {
  std::uint32_t pack = 0;
  std::vector<Extent> extents;  // ascending, apart from each other
  std::vector<WantedCopy> copies;
};

struct ReadPlan {
  std::vector<PackReads> packs;  // ascending; packs that nothing is read from are left out
  std::vector<CopyLoop> loops;
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_wanted = 0;
};

// `reader` is the rank that reads: copies of the same bytes are taken from the pack of that number, and where
// it has none, each rank begins with another one. Refuses tensors that the checkpoint does not have as they
// are wanted: by name, type and whole shape; and elements that no pack has.
[[nodiscard]] Result<ReadPlan> plan_reads(const PartIndex& index, std::span<const TensorSpec> wanted,
                                          std::uint32_t reader);

// `bytes` are those of the extent. The error names the block or the tensor.
[[nodiscard]] Result<void> verify_extent(const PackHeader& pack, const Extent& extent,
                                         std::span<const std::byte> bytes);

// `destinations` are the wanted tensors' bytes, by number.
void copy_extent(const ReadPlan& plan, const PackReads& reads, const Extent& extent,
                 std::span<const std::byte> bytes, std::span<const std::span<std::byte>> destinations);

}  // namespace ratoon::checkpoint
