#include "agent/src/mds/shards/local_source.h"

#include <algorithm>

#include "agent/src/mds/shards/verified_files.h"

namespace ratoon::mds {

Result<Index> LocalSource::read_index() {
  const std::filesystem::path path = folder_ / "index.json";
  const auto file = open_file(path);
  if (!file && file.error().kind() == ErrorKind::kNotFound) return explain_missing_index(path);
  if (!file) return file.error();
  const auto text = read_file(file->fd.get(), file->identity.size_bytes, file->display_name);
  if (!text) return text.error();
  auto index = parse_index({reinterpret_cast<const char*>(text->bytes.data()), text->bytes.size()});
  if (!index) return index.error().with_context(path.string());
  is_slow_to_open_ = std::any_of(index->shards.begin(), index->shards.end(), [](const ShardInfo& shard) {
    return shard.zip || !shard.raw.hashes.empty();
  });
  return index;
}

Result<ShardBytes> LocalSource::load(const FileInfo& info) const {
  const auto file = open_file(folder_ / info.basename);
  if (!file) return file.error();
  const std::uint64_t size_bytes = file->identity.size_bytes;
  if (size_bytes != info.size_bytes) {
    return Error(ErrorKind::kCorrupted, file->display_name + " has " + std::to_string(size_bytes) +
                                            " bytes, but the index says " + std::to_string(info.size_bytes));
  }
  auto loaded = options_.maps_files ? map_file(file->fd.get(), size_bytes, file->display_name)
                                    : read_file(file->fd.get(), size_bytes, file->display_name);
  if (!loaded || !options_.verifies_local_files) return loaded;
  auto& verified = VerifiedFiles::of_this_process();
  if (const auto sound = verified.check(file->identity, info.hashes, loaded->bytes); !sound)
    return sound.error().with_context(file->display_name);
  return loaded;
}

Result<ShardBytes> LocalSource::open(const ShardInfo& shard, const std::stop_token&) {
  auto raw = load(shard.raw);
  if (!raw && raw.error().kind() == ErrorKind::kNotFound) {
    const auto compressed = shard.zip ? load(*shard.zip) : Result<ShardBytes>(raw.error());
    if (!compressed && compressed.error().kind() == ErrorKind::kNotFound)
      return Error(ErrorKind::kNotFound, display_name(shard) + " does not exist, but the index lists it");
    if (!compressed) return compressed;
    raw = decompress_shard(shard, compressed->bytes, options_.verifies_local_files);
    if (!raw) return raw.error().with_context((folder_ / shard.zip->basename).string());
  }
  if (!raw) return raw;
  return checked_shard(std::move(*raw), shard, display_name(shard));
}

std::string LocalSource::display_name(const ShardInfo& shard) const {
  return (folder_ / shard.raw.basename).string();
}

}  // namespace ratoon::mds
