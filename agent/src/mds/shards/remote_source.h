// RemoteSource: reads shards from an object store. Each shard is fetched, decompressed and stored in a cache
// on this machine.
#pragma once

#include <memory>
#include <string>

#include "agent/src/mds/shards/shard_source.h"
#include "agent/src/objects/cache/object_cache.h"
#include "agent/src/objects/object_store.h"

namespace ratoon::mds {

class RemoteSource final : public ShardSource {
 public:
  // `prefix` is the common beginning of the keys of all objects: empty, or a text that ends with '/'. After
  // pin_files() the cache cannot evict the file of an open shard, so the disk never holds open files that the
  // cache does not count. Call pin_files() only if the cache has a limit.
  RemoteSource(std::shared_ptr<objects::ObjectStore> store, std::string prefix,
               std::shared_ptr<objects::ObjectCache> cache, LoadOptions options)
      : store_(std::move(store)), prefix_(std::move(prefix)), cache_(std::move(cache)), options_(options) {}

  void pin_files() { pins_files_ = true; }

  [[nodiscard]] Result<Index> read_index() override;
  [[nodiscard]] Result<ShardBytes> open(const ShardInfo& shard, const std::stop_token& stop) override;
  [[nodiscard]] std::string display_name(const ShardInfo& shard) const override;
  [[nodiscard]] bool is_slow_to_open() const override { return true; }
  [[nodiscard]] ShardCost open_cost(const ShardInfo& shard) const override;
  [[nodiscard]] std::optional<objects::CacheKey> cache_key(const ShardInfo& shard) const override;

 private:
  [[nodiscard]] objects::CacheKey object_cache_key(const ShardInfo& shard) const;
  [[nodiscard]] objects::CacheRequest cache_request(const ShardInfo& shard) const;
  // Fetches a compressed object and writes its decompressed bytes to `file`.
  [[nodiscard]] Result<void> fetch_decompressed(const ShardInfo& shard, objects::FileSink& file,
                                                const std::stop_token& stop) const;
  // Loads the shard from its file in the cache. Returns kCorrupted if the file of the shard in the cache has
  // wrong contents.
  [[nodiscard]] Result<ShardBytes> load(const ShardInfo& shard, const std::stop_token& stop) const;

  const std::shared_ptr<objects::ObjectStore> store_;
  const std::string prefix_;
  const std::shared_ptr<objects::ObjectCache> cache_;
  const LoadOptions options_;
  bool pins_files_ = false;
  std::string index_version_;  // distinguishes data sets under the same URI if the index has no hashes
};

}  // namespace ratoon::mds
