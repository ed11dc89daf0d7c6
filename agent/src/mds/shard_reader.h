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
  [[nodiscard]] std::string shown(std::size_t shard) const;

 private:
  [[nodiscard]] ShardSource& source_of(std::size_t shard) const {
    return *sources_[index_.shards[shard].source];
  }
  void tell_caches(std::span<const std::size_t> shards);

  const Index index_;
  const std::vector<std::unique_ptr<ShardSource>> sources_;
  const ShardTable table_;
  OpenShards open_;

  std::mutex mutex_;
  Future future_;          // guarded by mutex_
  Prefetcher prefetcher_;  // the last: its threads use all of the above
};

// Samples of each shard.
[[nodiscard]] std::vector<std::uint64_t> sizes_of(const Index& index);

}  // namespace ratoon::mds
