// ShardSource: where the bytes of a data set's shards come from, checked before anybody sees them: length,
// hashes of what was stored and of what it unpacks to, offsets.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>

#include <ratoon/result.h>

#include "agent/src/mds/format/index.h"
#include "agent/src/mds/future.h"
#include "agent/src/mds/shard_bytes.h"
#include "agent/src/objects/cache/cache_name.h"

namespace ratoon::mds {

// Thread contract: any thread.
class ShardSource {
 public:
  virtual ~ShardSource() = default;

  // index.json; errors name it.
  [[nodiscard]] virtual Result<Index> read_index() = 0;
  // Errors name the shard's file or URL.
  [[nodiscard]] virtual Result<ShardBytes> open(const ShardInfo& shard, const std::stop_token& stop) = 0;
  // The shard's file or URL.
  [[nodiscard]] virtual std::string shown(const ShardInfo& shard) const = 0;

  // Whether it is worth a thread's time to open shards before they are needed.
  [[nodiscard]] virtual bool is_slow() const = 0;
  // What the shard takes while it is open.
  [[nodiscard]] virtual ShardCost cost(const ShardInfo& shard) const = 0;
  // What a cache that evicts files knows the shard by.
  [[nodiscard]] virtual std::optional<objects::CacheKey> cache_key(const ShardInfo&) const {
    return std::nullopt;
  }
};

struct LoadOptions {
  bool maps_files = true;
  bool verifies_local_files = true;
};

// The bytes that a compressed shard unpacks to, with its hashes checked.
[[nodiscard]] Result<ShardBytes> unpack(const ShardInfo& shard, std::span<const std::byte> compressed,
                                        bool verifies_hashes);

// Checks the offsets; errors begin with `shown`.
[[nodiscard]] Result<ShardBytes> checked_shard(ShardBytes bytes, const ShardInfo& shard,
                                               const std::string& shown);

}  // namespace ratoon::mds
