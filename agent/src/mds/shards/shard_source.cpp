#include "agent/src/mds/shards/shard_source.h"

#include <system_error>

#include "agent/src/data/sets/refuse.h"
#include "agent/src/mds/format/shard.h"

namespace ratoon::mds {
namespace {

namespace fs = std::filesystem;

bool has_regular_files(const fs::path& folder) {
  std::error_code code;
  for (fs::directory_iterator at(folder, code), end; !code && at != end; at.increment(code)) {
    std::error_code ignored;
    if (at->is_regular_file(ignored)) return true;
  }
  return false;
}

}  // namespace

Error explain_missing_index(const fs::path& index) {
  const std::string sentence =
      "there is no " + index.string() + ": a writer creates this file last, and each split has one";
  if (has_regular_files(index.parent_path()))
    return {ErrorKind::kNotFound, sentence + ". Wait until the data set is complete"};
  return data::explain_missing_path(index, {ErrorKind::kNotFound, sentence});
}

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
