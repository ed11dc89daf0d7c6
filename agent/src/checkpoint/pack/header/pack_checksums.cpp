#include "agent/src/checkpoint/pack/header/pack_checksums.h"

#include <algorithm>
#include <stdexcept>

#include "base/core/crc32c.h"

namespace ratoon::checkpoint {

void PackChecksums::add(std::span<const std::byte> bytes) {
  if (bytes.size() > layout_.data_bytes - position_)
    throw std::invalid_argument("more bytes are added to a pack's sums than the pack has");
  add_to_blocks(bytes);
  while (!bytes.empty()) {
    const std::uint64_t left_of_tensor = layout_.tensors[hashes_.size()].end - position_;
    const auto piece = bytes.first(std::min<std::uint64_t>(left_of_tensor, bytes.size()));
    tensor_hash_.update(piece);
    position_ += piece.size();
    bytes = bytes.subspan(piece.size());
    finish_ended_tensors();
  }
}

void PackChecksums::add_to_blocks(std::span<const std::byte> bytes) {
  for (std::uint64_t in_block = position_ % kPackBlockBytes; !bytes.empty(); in_block = 0) {
    const auto piece = bytes.first(std::min<std::uint64_t>(kPackBlockBytes - in_block, bytes.size()));
    if (in_block == 0) block_crcs_.push_back(0);
    block_crcs_.back() = crc32c(piece, block_crcs_.back());
    bytes = bytes.subspan(piece.size());
  }
}

// Finishes the hashes of all tensors whose last byte was added, including tensors without bytes.
void PackChecksums::finish_ended_tensors() {
  while (hashes_.size() < layout_.tensors.size() && layout_.tensors[hashes_.size()].end == position_) {
    hashes_.push_back(tensor_hash_.digest128());
    tensor_hash_.reset();
  }
}

}  // namespace ratoon::checkpoint
