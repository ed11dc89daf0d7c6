// The entries of an epoch's list that a rank takes: The arithmetic is that of DistributedSampler, for any
// first entry.
#pragma once

#include <cstdint>

namespace ratoon::data {

struct ListShare {
  std::uint64_t samples = 0;  // entries of the list
  std::uint64_t start = 0;    // the first entry that this world distributes; at most `samples`
  std::uint32_t world_size = 1;
  std::uint32_t rank = 0;
  bool drop_last = false;

  // The number of samples of each rank.
  [[nodiscard]] std::uint64_t size() const {
    const std::uint64_t rest = samples - start;
    return drop_last ? rest / world_size : (rest + world_size - 1) / world_size;
  }

  // The entry of the list at a place of this rank. After the end the list begins again, several times if the
  // world is larger than the list.
  [[nodiscard]] std::uint64_t entry(std::uint64_t place) const {
    return (start + place * world_size + rank) % samples;
  }
};

}  // namespace ratoon::data
