#include "agent/src/mds/upcoming_shards.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace ratoon::mds {

std::vector<std::size_t> distinct_shards(std::span<const std::size_t> shards) {
  std::unordered_set<std::size_t> seen;
  std::vector<std::size_t> kept;
  for (const std::size_t shard : shards) {
    if (seen.insert(shard).second) kept.push_back(shard);
  }
  return kept;
}

std::size_t count_fitting_shards(std::span<const ShardCost> costs, const ShardCost& room) {
  ShardCost left = room;
  std::size_t count = 0;
  for (const ShardCost& cost : costs) {
    const bool fits = cost.memory_bytes <= left.memory_bytes && cost.cache_bytes <= left.cache_bytes;
    if (!fits) return std::max<std::size_t>(count, 1);
    left.memory_bytes -= cost.memory_bytes;
    left.cache_bytes -= cost.cache_bytes;
    ++count;
  }
  return count;
}

void UpcomingShards::expect(std::vector<std::size_t> shards) {
  expected_batches_.push_back(std::move(shards));
}

void UpcomingShards::expect_no_more(std::span<const std::size_t> shards) {
  const auto call =
      std::find_if(expected_batches_.begin(), expected_batches_.end(), [&](const auto& expected) {
        return std::equal(expected.begin(), expected.end(), shards.begin(), shards.end());
      });
  if (call != expected_batches_.end()) expected_batches_.erase(call);
}

std::vector<std::size_t> UpcomingShards::shards() const {
  std::vector<std::size_t> all;
  for (const auto& call : expected_batches_) all.insert(all.end(), call.begin(), call.end());
  return distinct_shards(all);
}

std::vector<std::uint64_t> UpcomingShards::next_uses(std::span<const std::size_t> of) const {
  std::unordered_map<std::size_t, std::uint64_t> places;
  for (const std::size_t shard : shards()) places.emplace(shard, places.size());
  std::vector<std::uint64_t> uses;
  uses.reserve(of.size());
  for (const std::size_t shard : of) {
    const auto place = places.find(shard);
    uses.push_back(place == places.end() ? kNeverUsed : place->second);
  }
  return uses;
}

}  // namespace ratoon::mds
