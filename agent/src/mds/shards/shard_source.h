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

  // Reads index.json. Errors name it.
  [[nodiscard]] virtual Result<Index> read_index() = 0;
  // Errors name the shard's file or URL.
  [[nodiscard]] virtual Result<ShardBytes> open(const ShardInfo& shard, const std::stop_token& stop) = 0;
  // The shard's file or URL.
  [[nodiscard]] virtual std::string shown(const ShardInfo& shard) const = 0;

  // Whether opening a shard takes so long that it should happen ahead, in another thread.
  [[nodiscard]] virtual bool is_slow() const = 0;
  // The resources that the shard uses while it is open.
  [[nodiscard]] virtual ShardCost cost(const ShardInfo& shard) const = 0;
  // The key of the shard in a cache that evicts files; nothing if it is in none.
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

// Checks the offsets. Errors begin with `shown`.
[[nodiscard]] Result<ShardBytes> checked_shard(ShardBytes bytes, const ShardInfo& shard,
                                               const std::string& shown);

}  // namespace ratoon::mds
