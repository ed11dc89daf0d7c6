// mds/shards/: Opens the shards of a data set from local folders and from stores, either on request or before
// they are requested.
//
// ShardReader: opens a shard of a data set when a caller requests one of its samples. If the shard is slow to
// open and a caller expects to request its samples, ShardReader opens the shard earlier.
//
// Thread contract: any thread may call any function.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/mds/folders.h"
#include "agent/src/mds/shards/shard_prefetcher.h"
#include "agent/src/mds/shards/shard_table.h"
#include "agent/src/mds/upcoming_shards.h"
#include "base/core/threads/mutex.h"

namespace ratoon::mds {

class ShardReader {
 public:
  explicit ShardReader(DatasetFolders folders);

  [[nodiscard]] const Index& index() const { return index_; }
  [[nodiscard]] const ShardTable& table() const { return table_; }

  [[nodiscard]] Result<ShardBytes> open(std::size_t shard, const std::stop_token& stop);
  void expect(std::span<const std::uint64_t> ids);
  void expect_no_more(std::span<const std::uint64_t> ids);
  [[nodiscard]] std::string display_name(std::size_t shard) const;

 private:
  [[nodiscard]] ShardSource& source_of(std::size_t shard) const {
    return *sources_[index_.shards[shard].source];
  }
  [[nodiscard]] ShardCost cost_of(std::size_t shard) const {
    return source_of(shard).open_cost(index_.shards[shard]);
  }
  // Returns those shards of the samples `ids` that are slow to open and should be opened ahead. The result
  // contains each shard once.
  [[nodiscard]] std::vector<std::size_t> slow_shards_of(std::span<const std::uint64_t> ids) const;
  [[nodiscard]] std::vector<std::size_t> expected_shards() const;
  // Returns false if the shard has been withdrawn by expect_no_more() since it was to be opened ahead.
  [[nodiscard]] bool is_expected(std::size_t shard) const;
  // Returns the cache keys of the shards that are expected to be read, in the order in which they are needed.
  [[nodiscard]] std::vector<objects::CacheKey> expected_cache_keys() const;
  void prefetch_expected_shards() RATOON_REQUIRES(expectations_mutex_);

  const Index index_;
  const std::vector<std::unique_ptr<ShardSource>> sources_;
  const ShardTable table_;
  const ShardCost prefetch_limit_;
  const std::size_t prefetch_count_max_;

  // A thread holds expectations_mutex_ while it changes the list of expected shards. A thread that needs
  // several mutexes must lock expectations_mutex_ first.
  Mutex expectations_mutex_;
  // More shards are expected than fit.
  bool has_more_to_prefetch_ RATOON_GUARDED_BY(expectations_mutex_) = false;
  mutable Mutex mutex_;  // taken last, and held briefly
  UpcomingShards upcoming_shards_ RATOON_GUARDED_BY(mutex_);
  OpenShards open_shards_;
  ShardPrefetcher prefetcher_;  // the last member: its threads use all of the above
};

// Returns the number of samples of each shard.
[[nodiscard]] std::vector<std::uint64_t> shard_sample_counts(const Index& index);

}  // namespace ratoon::mds
