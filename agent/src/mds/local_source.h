// LocalSource: shards in a folder of this machine, where they are. The file as it is used, if it is there,
// else the compressed one, unpacked in memory.
#pragma once

#include <filesystem>

#include "agent/src/mds/shard_source.h"

namespace ratoon::mds {

class LocalSource final : public ShardSource {
 public:
  LocalSource(std::filesystem::path folder, LoadOptions options)
      : folder_(std::move(folder)), options_(options) {}

  [[nodiscard]] Result<Index> read_index() override;
  [[nodiscard]] Result<ShardBytes> open(const ShardInfo& shard, const std::stop_token& stop) override;
  [[nodiscard]] std::string shown(const ShardInfo& shard) const override;
  // To hash or to unpack a shard takes long; to map it does not.
  [[nodiscard]] bool is_slow() const override { return is_slow_; }
  // Of a compressed one, that which nobody has unpacked beside it.
  [[nodiscard]] ShardCost cost(const ShardInfo& shard) const override {
    return {.memory_bytes = shard.zip || !options_.maps_files ? shard.raw.size_bytes : 0};
  }

 private:
  // Bytes of a file whose length and hashes are right.
  [[nodiscard]] Result<ShardBytes> load(const FileInfo& file) const;

  const std::filesystem::path folder_;
  const LoadOptions options_;
  bool is_slow_ = false;
};

}  // namespace ratoon::mds
