// ShardSource: where the bytes of a data set's shards come from, checked before anybody sees them: length,
// hashes of what was stored and of what it unpacks to, offsets.
#pragma once

#include <filesystem>
#include <stop_token>
#include <string>

#include <ratoon/result.h>

#include "agent/src/mds/format/index.h"
#include "agent/src/mds/shard_bytes.h"

namespace ratoon::mds {

// Thread contract: any thread.
class ShardSource {
 public:
  virtual ~ShardSource() = default;
  // index.json; errors name it.
  [[nodiscard]] virtual Result<Index> read_index() = 0;
  [[nodiscard]] virtual Result<ShardBytes> open(const ShardInfo& shard, const std::stop_token& stop) = 0;
  // The file or URL of the shard, for messages.
  [[nodiscard]] virtual std::string shown(const ShardInfo& shard) const = 0;
};

// A folder of this machine. The file as it is used, where it is there, else the compressed one, unpacked in
// memory.
class LocalSource final : public ShardSource {
 public:
  struct Options {
    bool maps_files = true;
    bool verifies_hashes = true;
  };
  LocalSource(std::filesystem::path folder, Options options)
      : folder_(std::move(folder)), options_(options) {}

  [[nodiscard]] Result<Index> read_index() override;
  [[nodiscard]] Result<ShardBytes> open(const ShardInfo& shard, const std::stop_token& stop) override;
  [[nodiscard]] std::string shown(const ShardInfo& shard) const override;

 private:
  // Bytes of a file whose length and hashes are right.
  [[nodiscard]] Result<ShardBytes> load(const FileInfo& file) const;

  const std::filesystem::path folder_;
  const Options options_;
};

// The bytes that a compressed shard unpacks to, with the hashes of both checked.
[[nodiscard]] Result<ShardBytes> unpack(const ShardInfo& shard, std::span<const std::byte> compressed,
                                        bool verifies_hashes);

}  // namespace ratoon::mds
