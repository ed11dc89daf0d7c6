#include "agent/src/mds/shards/remote_source.h"

#include "agent/src/mds/format/digest.h"
#include "agent/src/mds/shards/verified_files.h"
#include "agent/src/objects/object_key.h"
#include "agent/src/objects/sinks.h"

namespace ratoon::mds {
namespace {

constexpr std::uint64_t kIndexBytesMax = std::uint64_t{4} << 30;

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

Result<Index> RemoteSource::read_index() {
  const std::string key = prefix_ + "index.json";
  objects::MemorySink text(kIndexBytesMax);
  if (const auto got = store_->get(key, text); !got) {
    if (got.error().kind() != ErrorKind::kNotFound) return got.error();
    if (const auto path = store_->local_path(key)) return explain_missing_index(*path);
    // No volume has to be mounted for a store, so the same start would find no index again.
    return Error(ErrorKind::kInvalid, got.error().message() +
                                          ". Each split of a data set has an index: "
                                          "correct the URI or the split");
  }
  auto index = parse_index(text.bytes());
  if (!index) return index.error().with_context(objects::join_uri(store_->uri(), key));
  auto digest = digest_of(*index);
  if (!digest) return digest.error();
  index_version_ = std::move(*digest);
  return index;
}

std::string RemoteSource::display_name(const ShardInfo& shard) const {
  return objects::join_uri(store_->uri(), prefix_ + (shard.zip ? *shard.zip : shard.raw).basename);
}

ShardCost RemoteSource::open_cost(const ShardInfo& shard) const {
  return {.memory_bytes = options_.maps_files ? 0 : shard.raw.size_bytes,
          .cache_bytes = pins_files_ ? shard.raw.size_bytes : 0};
}

std::optional<objects::CacheKey> RemoteSource::cache_key(const ShardInfo& shard) const {
  return pins_files_ ? std::optional(object_cache_key(shard)) : std::nullopt;
}

objects::CacheKey RemoteSource::object_cache_key(const ShardInfo& shard) const {
  objects::CacheKey key{.source = display_name(shard)};
  for (const FileHash& hash : shard.raw.hashes) key.version += hash.algorithm + " " + hash.digest + " ";
  if (key.version.empty()) key.version = index_version_;
  return key;
}

Result<void> RemoteSource::fetch_decompressed(const ShardInfo& shard, objects::FileSink& file,
                                              const std::stop_token& stop) const {
  const std::string key = prefix_ + shard.zip->basename;
  objects::MemorySink compressed(shard.zip->size_bytes);
  const auto got = store_->get(key, compressed, {.stop = stop});
  if (!got) return got.error();
  const auto bytes = std::as_bytes(std::span(compressed.bytes()));
  if (bytes.size() != shard.zip->size_bytes) {
    return Error(ErrorKind::kCorrupted, display_name(shard) + " has " + std::to_string(bytes.size()) +
                                            " bytes, but the index says " +
                                            std::to_string(shard.zip->size_bytes));
  }
  if (const auto sound = check_hashes(shard.zip->hashes, bytes); !sound)
    return sound.error().with_context(display_name(shard));
  const auto raw = decompress_shard(shard, bytes, false);  // the cache checks its hashes in the file
  if (!raw) return raw.error().with_context(display_name(shard));
  if (auto begun = file.begin({.key = key, .size_bytes = raw->bytes.size()}); !begun) return begun;
  return file.write(text_of(raw->bytes));
}

objects::CacheRequest RemoteSource::cache_request(const ShardInfo& shard) const {
  const auto verify = [&shard](std::span<const std::byte> bytes) {
    return check_hashes(shard.raw.hashes, bytes);
  };
  objects::CacheRequest request = objects::unmodified_object_request(*store_, prefix_ + shard.raw.basename,
                                                                     "", shard.raw.size_bytes, verify);
  request.key = object_cache_key(shard);
  if (shard.zip) {
    request.fill = [this, &shard](objects::FileSink& file, const std::stop_token& stop) {
      return fetch_decompressed(shard, file, stop);
    };
  }
  return request;
}

Result<ShardBytes> RemoteSource::load(const ShardInfo& shard, const std::stop_token& stop) const {
  bool is_fetched = false;
  objects::CacheRequest wanted = cache_request(shard);
  wanted.verify = [verify = std::move(wanted.verify), &is_fetched](std::span<const std::byte> bytes) {
    is_fetched = true;
    return verify(bytes);
  };
  auto file = cache_->get(wanted, stop);
  if (!file) return file.error();
  const auto held = std::make_shared<const objects::CachedFile>(std::move(*file));
  auto identity = identify_file(held->fd(), held->display_name());
  if (!identity) return identity.error();
  identity->changed_nanoseconds = 0;  // the cache marks files as used, which changes this time
  auto loaded = options_.maps_files ? map_file(held->fd(), held->size_bytes(), held->display_name())
                                    : read_file(held->fd(), held->size_bytes(), held->display_name());
  if (!loaded) return loaded;
  auto& verified = VerifiedFiles::of_this_process();
  if (is_fetched) verified.record_verified(*identity, shard.raw.hashes);
  if (options_.verifies_local_files) {
    if (const auto sound = verified.check(*identity, shard.raw.hashes, loaded->bytes); !sound)
      return sound.error().with_context(held->display_name());
  }
  if (pins_files_) {
    const auto both =
        std::make_shared<const std::pair<std::shared_ptr<const void>, std::shared_ptr<const void>>>(
            std::move(loaded->owner), held);
    loaded->owner = both;
    loaded->pinned_bytes = held->size_bytes();
  }
  return checked_shard(std::move(*loaded), shard,
                       display_name(shard) + " (kept as " + held->display_name() + ")");
}

Result<ShardBytes> RemoteSource::open(const ShardInfo& shard, const std::stop_token& stop) {
  auto loaded = load(shard, stop);
  if (!loaded && loaded.error().kind() == ErrorKind::kCorrupted) {
    // A file in the cache may have been damaged on this disk since it was fetched. If so, fetch it once more
    // from the store. If the index has no hashes, damage is noticed only if the offsets in the file are
    // wrong.
    if (const auto forgotten = cache_->discard(object_cache_key(shard)); !forgotten) return forgotten.error();
    loaded = load(shard, stop);
  }
  return loaded;
}

}  // namespace ratoon::mds
