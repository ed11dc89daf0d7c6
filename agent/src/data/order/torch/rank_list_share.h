// RankListShare computes which samples of an epoch's list a rank takes. It computes as PyTorch's
// DistributedSampler does. But the computation can start at any entry of the list, so that another number of
// ranks can share the rest of an epoch after a restart.
#pragma once

#include <cstdint>

namespace ratoon::data {

struct RankListShare {
  std::uint64_t samples = 0;  // entries of the list
  std::uint64_t start = 0;    // the first entry that this world distributes; at most `samples`
  std::uint32_t world_size = 1;
  std::uint32_t rank = 0;
  bool drop_last = false;

  // Returns the number of samples that each rank takes from the list.
  [[nodiscard]] std::uint64_t size() const {
    const std::uint64_t rest = samples - start;
    return drop_last ? rest / world_size : (rest + world_size - 1) / world_size;
  }

  // Returns the index, in the list, of the sample that this rank takes at position `place`. The padding at
  // the end of an epoch takes the samples of the list from its first sample again, as often as necessary.
  [[nodiscard]] std::uint64_t entry(std::uint64_t place) const {
    return (start + place * world_size + rank) % samples;
  }
};

}  // namespace ratoon::data
