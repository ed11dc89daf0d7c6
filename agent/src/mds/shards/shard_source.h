// ShardSource: the source of a data set's shards. Bytes are checked before they are returned: length, hashes
// of the stored and of the decompressed bytes, offsets.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>

#include <ratoon/result.h>

#include "agent/src/mds/format/index.h"
#include "agent/src/mds/shards/shard_bytes.h"
#include "agent/src/mds/upcoming_shards.h"
#include "agent/src/objects/cache/cache_name.h"

namespace ratoon::mds {

// Thread contract: any thread.
class ShardSource {
 public:
  virtual ~ShardSource() = default;

  // Reads index.json. Errors name the path or URL of index.json.
  [[nodiscard]] virtual Result<Index> read_index() = 0;
  // Opens a shard. Errors name the shard's file or URL.
  [[nodiscard]] virtual Result<ShardBytes> open(const ShardInfo& shard, const std::stop_token& stop) = 0;
  // Returns the shard's file or URL, for messages.
  [[nodiscard]] virtual std::string shown(const ShardInfo& shard) const = 0;

  // Returns whether opening a shard takes so long that another thread should open it ahead.
  [[nodiscard]] virtual bool is_slow() const = 0;
  // Returns the resources that the shard uses while it is open.
  [[nodiscard]] virtual ShardCost cost(const ShardInfo& shard) const = 0;
  // Returns the shard's key in a cache that evicts files; nothing if the shard is in no cache.
  [[nodiscard]] virtual std::optional<objects::CacheKey> cache_key(const ShardInfo&) const {
    return std::nullopt;
  }
};

struct LoadOptions {
  bool maps_files = true;
  bool verifies_local_files = true;
};

// Decompresses a shard, and checks the hashes of the result if `verifies_hashes`.
[[nodiscard]] Result<ShardBytes> unpack(const ShardInfo& shard, std::span<const std::byte> compressed,
                                        bool verifies_hashes);

// Checks the offsets of a shard. Error texts begin with `shown`.
[[nodiscard]] Result<ShardBytes> checked_shard(ShardBytes bytes, const ShardInfo& shard,
                                               const std::string& shown);

}  // namespace ratoon::mds
