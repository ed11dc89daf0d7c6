// LocalSource: reads shards from a folder of this machine, without copying them into a cache. LocalSource
// uses a shard's uncompressed file if there is one; if not, it decompresses the compressed file in memory.
#pragma once

#include <filesystem>

#include "agent/src/mds/shards/shard_source.h"

namespace ratoon::mds {

class LocalSource final : public ShardSource {
 public:
  LocalSource(std::filesystem::path folder, LoadOptions options)
      : folder_(std::move(folder)), options_(options) {}

  [[nodiscard]] Result<Index> read_index() override;
  [[nodiscard]] Result<ShardBytes> open(const ShardInfo& shard, const std::stop_token& stop) override;
  [[nodiscard]] std::string display_name(const ShardInfo& shard) const override;
  // Opening a shard is slow if the shard must be hashed or decompressed, and fast if its file is only mapped.
  [[nodiscard]] bool is_slow_to_open() const override { return is_slow_to_open_; }
  // If the index lists a compressed file, open_cost() assumes that the uncompressed file does not exist.
  [[nodiscard]] ShardCost open_cost(const ShardInfo& shard) const override {
    return {.memory_bytes = shard.zip || !options_.maps_files ? shard.raw.size_bytes : 0};
  }

 private:
  // Loads a file, checks its length and hashes, and returns its bytes.
  [[nodiscard]] Result<ShardBytes> load(const FileInfo& file) const;

  const std::filesystem::path folder_;
  const LoadOptions options_;
  bool is_slow_to_open_ = false;
};

}  // namespace ratoon::mds
