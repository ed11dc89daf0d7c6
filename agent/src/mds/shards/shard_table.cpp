#include "agent/src/mds/shards/shard_table.h"

#include <algorithm>

namespace ratoon::mds {

ShardTable::ShardTable(std::span<const std::uint64_t> sizes) : first_samples_{0} {
  first_samples_.reserve(sizes.size() + 1);
  for (const std::uint64_t size : sizes) first_samples_.push_back(first_samples_.back() + size);
  // Divides the ids of all samples into ranges of equal size, about as many as there are shards. If all
  // shards have similar sizes, each range of ids overlaps one or two shards.
  while ((samples() >> range_bits_) > sizes.size()) ++range_bits_;
  std::uint32_t shard = 0;
  for (std::uint64_t range = 0; range <= samples() >> range_bits_; ++range) {
    while (shard + 1 < sizes.size() && first_samples_[shard + 1] <= range << range_bits_) ++shard;
    first_shards_.push_back(shard);
  }
  first_shards_.push_back(sizes.empty() ? 0 : static_cast<std::uint32_t>(sizes.size() - 1));
}

ShardTable::SamplePosition ShardTable::find(std::uint64_t id) const {
  const std::uint64_t range = id >> range_bits_;
  // The shard of a sample is the last shard whose first sample is at or before the sample's id.
  const auto from = first_samples_.begin() + first_shards_[range];
  const auto to = first_samples_.begin() + first_shards_[range + 1] + 1;
  const auto behind = std::upper_bound(from, to, id);
  const auto shard = static_cast<std::size_t>(behind - first_samples_.begin()) - 1;
  return {.shard = shard, .sample = static_cast<std::uint32_t>(id - first_samples_[shard])};
}

}  // namespace ratoon::mds
