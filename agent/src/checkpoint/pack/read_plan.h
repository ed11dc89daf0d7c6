// checkpoint/pack/: Computes, from the positions of saved parts, which bytes of which packs make up a wanted
// tensor. The functions are pure.
//
// The plan by which a rank reads its tensors from a checkpoint that any number of ranks wrote.
//
//   plan_reads -> for each pack: extents of the file, read in any order and on any thread; for each extent
//   verify_extent, then copy_extent.
//
// An extent is a range of a pack that is read and verified by itself. A slice is verified by the checksums of
// all blocks that contain it. A tensor that is read whole is verified by its XXH3-128, or by the checksums of
// the blocks that contain it. The plan chooses the checksums of blocks if reading whole blocks adds hardly
// any bytes.
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

// `reader` is the number of the rank that reads. If several packs have the same bytes, the plan takes the
// bytes from the pack with the reader's own number. If this pack lacks the bytes, different readers choose
// different packs, so that no pack is read by all readers. Returns an error if the checkpoint lacks a tensor
// of the wanted name, type and whole shape, or if an element is in no pack.
[[nodiscard]] Result<ReadPlan> plan_reads(const PartIndex& index, std::span<const TensorSpec> wanted,
                                          std::uint32_t reader);

// `bytes` holds all bytes of the extent, as read from the pack. If a checksum is wrong, the error names the
// block or the tensor.
[[nodiscard]] Result<void> verify_extent(const PackHeader& pack, const Extent& extent,
                                         std::span<const std::byte> bytes);

// `destinations` holds, for each wanted tensor, the memory to which its bytes are copied.
void copy_extent(const ReadPlan& plan, const PackReads& reads, const Extent& extent,
                 std::span<const std::byte> bytes, std::span<const std::span<std::byte>> destinations);

}  // namespace ratoon::checkpoint
