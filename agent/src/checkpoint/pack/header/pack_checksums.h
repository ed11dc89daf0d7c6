// Computes the checksums and hashes in a pack's header from its data, which arrives in consecutive pieces.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "agent/src/checkpoint/pack/header/layout.h"
#include "base/core/xxh3.h"

namespace ratoon::checkpoint {

class PackChecksums {
 public:
  // `layout` must outlive this object.
  explicit PackChecksums(const PackLayout& layout) : layout_(layout) { finish_ended_tensors(); }

  // Adds the next bytes of the data. A piece of data may end in the middle of a block or a tensor. Throws
  // std::invalid_argument if more bytes are added than the layout has.
  void add(std::span<const std::byte> bytes);

  // Call the following functions only after all bytes of the pack's data were added.
  [[nodiscard]] const std::vector<std::uint32_t>& block_crcs() const { return block_crcs_; }
  [[nodiscard]] const std::vector<Hash128>& hashes() const { return hashes_; }

 private:
  void add_to_blocks(std::span<const std::byte> bytes);
  void finish_ended_tensors();

  const PackLayout& layout_;
  std::uint64_t position_ = 0;  // position in the data
  std::vector<std::uint32_t> block_crcs_;
  std::vector<Hash128> hashes_;
  Xxh3Stream tensor_hash_;  // state of the hash of the current tensor
};

}  // namespace ratoon::checkpoint
