#include "agent/src/mds/future.h"

#include <unordered_set>
#include <utility>

namespace ratoon::mds {

std::vector<std::size_t> distinct(std::span<const std::size_t> shards) {
  std::unordered_set<std::size_t> seen;
  std::vector<std::size_t> kept;
  for (const std::size_t shard : shards) {
    if (seen.insert(shard).second) kept.push_back(shard);
  }
  return kept;
}

void Future::expect(std::vector<std::size_t> shards) {
  if (calls_.size() == calls_max_) calls_.pop_front();
  calls_.push_back(std::move(shards));
}

std::vector<std::size_t> Future::shards() const {
  std::vector<std::size_t> all;
  for (const auto& call : calls_) all.insert(all.end(), call.begin(), call.end());
  return distinct(all);
}

}  // namespace ratoon::mds
