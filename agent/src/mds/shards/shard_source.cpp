#include "agent/src/mds/shards/shard_source.h"

#include "agent/src/mds/format/shard.h"

namespace ratoon::mds {

Result<ShardBytes> decompress_shard(const ShardInfo& shard, std::span<const std::byte> compressed,
                                    bool verifies_hashes) {
  std::span<std::byte> room;
  ShardBytes raw = allocate_shard(shard.raw.size_bytes, room);
  if (const auto done = decompress(shard.compression, compressed, room); !done) return done.error();
  if (verifies_hashes) {
    if (const auto sound = check_hashes(shard.raw.hashes, raw.bytes); !sound)
      return sound.error().with_context("its decompressed bytes");
  }
  return raw;
}

Result<ShardBytes> checked_shard(ShardBytes bytes, const ShardInfo& shard, const std::string& display_name) {
  const auto sound = check_shard(bytes.bytes, shard.samples);
  if (!sound) return Error(sound.error().kind(), display_name + ": " + sound.error().message());
  return bytes;
}

}  // namespace ratoon::mds
