#include "agent/src/mds/shard_table.h"

#include <algorithm>

namespace ratoon::mds {

ShardTable::ShardTable(std::span<const std::uint64_t> sizes) : begins_{0} {
  begins_.reserve(sizes.size() + 1);
  for (const std::uint64_t size : sizes) begins_.push_back(begins_.back() + size);
  // About as many ranges as shards: where these are alike, a range meets one or two of them.
  while ((samples() >> shift_) > sizes.size()) ++shift_;
  std::uint32_t shard = 0;
  for (std::uint64_t range = 0; range <= samples() >> shift_; ++range) {
    while (shard + 1 < sizes.size() && begins_[shard + 1] <= range << shift_) ++shard;
    first_shards_.push_back(shard);
  }
  first_shards_.push_back(sizes.empty() ? 0 : static_cast<std::uint32_t>(sizes.size() - 1));
}

ShardTable::Place ShardTable::find(std::uint64_t id) const {
  const std::uint64_t range = id >> shift_;
  // The shard is the last one that begins at or before the id.
  const auto from = begins_.begin() + first_shards_[range];
  const auto to = begins_.begin() + first_shards_[range + 1] + 1;
  const auto behind = std::upper_bound(from, to, id);
  const auto shard = static_cast<std::size_t>(behind - begins_.begin()) - 1;
  return {.shard = shard, .sample = static_cast<std::uint32_t>(id - begins_[shard])};
}

}  // namespace ratoon::mds
