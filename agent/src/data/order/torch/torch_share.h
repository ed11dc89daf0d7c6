// ListShare computes which samples of an epoch's list a rank takes. The arithmetic is that of PyTorch's
// DistributedSampler, but the first entry can be any entry of the list.
#pragma once

#include <cstdint>

namespace ratoon::data {

struct ListShare {
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

  // Returns the index in the list of sample number `place` of this rank. After its last sample the list is
  // repeated, several times if there are more ranks than samples in the list.
  [[nodiscard]] std::uint64_t entry(std::uint64_t place) const {
    return (start + place * world_size + rank) % samples;
  }
};

}  // namespace ratoon::data
