// Finds the shard of a sample, in a time that does not grow with the number of samples or shards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ratoon::mds {

class ShardTable {
 public:
  explicit ShardTable(std::span<const std::uint64_t> sizes);

  struct SamplePosition {
    std::size_t shard = 0;
    std::uint32_t sample = 0;  // its index in the shard
  };

  [[nodiscard]] std::uint64_t samples() const { return first_samples_.back(); }
  // `id` must be below samples().
  [[nodiscard]] SamplePosition find(std::uint64_t id) const;

 private:
  std::vector<std::uint64_t> first_samples_;  // the first sample of each shard, and the end of the last one
  std::vector<std::uint32_t>
      first_shards_;  // the first shard in each range of 2^range_bits_ ids, then the last shard
  unsigned range_bits_ = 0;
};

}  // namespace ratoon::mds
