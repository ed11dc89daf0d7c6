// ShardSource: a folder or store from which the shards of a data set are read. Before a ShardSource returns
// the bytes of a shard, it checks their length, the hashes of the stored and of the decompressed bytes, and
// the offsets.
#pragma once

#include <filesystem>
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

// Thread contract: any thread may call any function.
class ShardSource {
 public:
  virtual ~ShardSource() = default;

  // Reads index.json. Error texts name the path or URL of index.json.
  [[nodiscard]] virtual Result<Index> read_index() = 0;
  // Opens a shard. Error texts name the path or URL of the shard.
  [[nodiscard]] virtual Result<ShardBytes> open(const ShardInfo& shard, const std::stop_token& stop) = 0;
  // Returns the path or URL of the shard for error messages.
  [[nodiscard]] virtual std::string display_name(const ShardInfo& shard) const = 0;

  // Returns true if opening a shard takes so long that a thread should open shards before they are needed.
  [[nodiscard]] virtual bool is_slow_to_open() const = 0;
  // Returns the memory and the cache space that the shard takes while it is open.
  [[nodiscard]] virtual ShardCost open_cost(const ShardInfo& shard) const = 0;
  // Returns the shard's key in a cache that evicts files; nothing if the shard is in no cache.
  [[nodiscard]] virtual std::optional<objects::CacheKey> cache_key(const ShardInfo&) const {
    return std::nullopt;
  }
};

// Returns the error for a folder of this machine that has no index. The returned error is kInvalid if the
// path is probably wrong, and kNotFound if the index may exist later: the volume of the folder is not mounted
// yet, or a writer, which writes the index last, is still writing shards.
[[nodiscard]] Error explain_missing_index(const std::filesystem::path& index);

struct LoadOptions {
  bool maps_files = true;
  bool verifies_local_files = true;
};

// Decompresses a shard, and checks the hashes of the result if `verifies_hashes`.
[[nodiscard]] Result<ShardBytes> decompress_shard(const ShardInfo& shard,
                                                  std::span<const std::byte> compressed,
                                                  bool verifies_hashes);

// Checks the offsets of a shard and returns its bytes. Error texts begin with `display_name`.
[[nodiscard]] Result<ShardBytes> checked_shard(ShardBytes bytes, const ShardInfo& shard,
                                               const std::string& display_name);

}  // namespace ratoon::mds
