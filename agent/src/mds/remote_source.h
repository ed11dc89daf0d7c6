// RemoteSource: shards in an object store, fetched into a cache on this machine and used from there,
// unpacked.
#pragma once

#include <memory>
#include <string>

#include "agent/src/mds/shard_source.h"
#include "agent/src/objects/cache/object_cache.h"
#include "agent/src/objects/object_store.h"

namespace ratoon::mds {

class RemoteSource final : public ShardSource {
 public:
  // `prefix` is empty or ends with '/': what keys begin with. `holds_files`: an open shard keeps its file in
  // the cache, so that the cache's limit is kept; without a limit that matters nothing needs to.
  RemoteSource(std::shared_ptr<objects::ObjectStore> store, std::string prefix,
               std::shared_ptr<objects::ObjectCache> cache, LoadOptions options)
      : store_(std::move(store)), prefix_(std::move(prefix)), cache_(std::move(cache)), options_(options) {}

  void hold_files() { holds_files_ = true; }

  [[nodiscard]] Result<Index> read_index() override;
  [[nodiscard]] Result<ShardBytes> open(const ShardInfo& shard, const std::stop_token& stop) override;
  [[nodiscard]] std::string shown(const ShardInfo& shard) const override;
  [[nodiscard]] bool is_slow() const override { return true; }
  [[nodiscard]] ShardCost cost(const ShardInfo& shard) const override;
  [[nodiscard]] std::optional<objects::CacheKey> cache_key(const ShardInfo& shard) const override;

 private:
  [[nodiscard]] objects::CacheKey key_of(const ShardInfo& shard) const;
  [[nodiscard]] objects::CacheRequest request(const ShardInfo& shard) const;
  // Writes what the compressed object unpacks to.
  [[nodiscard]] Result<void> fetch_unpacked(const ShardInfo& shard, objects::FileSink& file,
                                            const std::stop_token& stop) const;
  // From the cache. kCorrupted where a file that was there before is not what it should be.
  [[nodiscard]] Result<ShardBytes> load(const ShardInfo& shard, const std::stop_token& stop) const;

  const std::shared_ptr<objects::ObjectStore> store_;
  const std::string prefix_;
  const std::shared_ptr<objects::ObjectCache> cache_;
  const LoadOptions options_;
  bool holds_files_ = false;
  std::string version_;  // tells this data set from another one under the same URI, where no hashes do
};

}  // namespace ratoon::mds
