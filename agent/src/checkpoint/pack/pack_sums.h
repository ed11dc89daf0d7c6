// The sums of a pack's data, as its header carries them, from bytes that come one after the other in pieces.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "agent/src/checkpoint/pack/layout.h"
#include "base/core/xxh3.h"

namespace ratoon::checkpoint {

class PackSums {
 public:
  // `layout` outlives it.
  explicit PackSums(const PackLayout& layout) : layout_(layout) { end_tensors(); }

  // The next bytes of the data; a piece may end in the middle of a block and of a tensor. More of them than
  // the layout has is a std::invalid_argument.
  void add(std::span<const std::byte> bytes);

  // Complete once all bytes were added.
  [[nodiscard]] const std::vector<std::uint32_t>& block_crcs() const { return crcs_; }
  [[nodiscard]] const std::vector<Hash128>& hashes() const { return hashes_; }

 private:
  void add_to_blocks(std::span<const std::byte> bytes);
  void end_tensors();

  const PackLayout& layout_;
  std::uint64_t at_ = 0;  // in the data
  std::vector<std::uint32_t> crcs_;
  std::vector<Hash128> hashes_;
  Xxh3Stream tensor_;  // of the bytes so far of the tensor that is to come next in hashes_
};

}  // namespace ratoon::checkpoint
