// ShardReader: the shards of a data set as their samples are asked for: open, or opened now, or fetched
// before anybody asks.
//
// Thread contract: any thread.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/mds/folders.h"
#include "agent/src/mds/future.h"
#include "agent/src/mds/prefetcher.h"
#include "agent/src/mds/shard_table.h"

namespace ratoon::mds {

class ShardReader {
 public:
  explicit ShardReader(Folders folders);

  [[nodiscard]] const Index& index() const { return index_; }
  [[nodiscard]] const ShardTable& table() const { return table_; }

  [[nodiscard]] Result<ShardBytes> open(std::size_t shard, const std::stop_token& stop);
  void expect(std::span<const std::uint64_t> ids);
  void expect_no_more(std::span<const std::uint64_t> ids);
  [[nodiscard]] std::string shown(std::size_t shard) const;

 private:
  [[nodiscard]] ShardSource& source_of(std::size_t shard) const {
    return *sources_[index_.shards[shard].source];
  }
  [[nodiscard]] ShardCost cost_of(std::size_t shard) const {
    return source_of(shard).cost(index_.shards[shard]);
  }
  // Those that are worth fetching ahead, each once.
  [[nodiscard]] std::vector<std::size_t> shards_of(std::span<const std::uint64_t> ids) const;
  [[nodiscard]] std::vector<std::size_t> known_future() const;
  // What the cache knows them by, the nearest first.
  [[nodiscard]] std::vector<objects::CacheKey> keys_of_future() const;
  void fetch_ahead();

  const Index index_;
  const std::vector<std::unique_ptr<ShardSource>> sources_;
  const ShardTable table_;
  const ShardCost ahead_max_;
  const std::size_t ahead_count_max_;

  // Of those that change the future, for as long as it takes; taken before any other lock.
  std::mutex changing_;
  bool is_more_expected_ = false;  // than there is room for ahead; guarded by changing_
  mutable std::mutex mutex_;       // taken last, and for a moment
  Future future_;                  // guarded by mutex_
  OpenShards open_;
  Prefetcher prefetcher_;  // the last: its threads use all of the above
};

// Samples of each shard.
[[nodiscard]] std::vector<std::uint64_t> sizes_of(const Index& index);

}  // namespace ratoon::mds
