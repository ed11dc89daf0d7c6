#include "agent/src/mds/shard_source.h"

#include "agent/src/mds/format/shard.h"
#include "agent/src/mds/verified_files.h"

namespace ratoon::mds {

Result<ShardBytes> unpack(const ShardInfo& shard, std::span<const std::byte> compressed,
                          bool verifies_hashes) {
  std::span<std::byte> room;
  ShardBytes raw = allocate_shard(shard.raw.size_bytes, room);
  if (const auto done = decompress(shard.compression, compressed, room); !done) return done.error();
  if (verifies_hashes) {
    if (const auto sound = check_hashes(shard.raw.hashes, raw.bytes); !sound)
      return sound.error().with_context("what it unpacks to");
  }
  return raw;
}

Result<Index> LocalSource::read_index() {
  const std::filesystem::path path = folder_ / "index.json";
  const auto file = open_file(path);
  if (!file && file.error().kind() == ErrorKind::kNotFound) {
    return Error(ErrorKind::kNotFound, "there is no " + path.string() +
                                           ": a folder of MDS has one once its writer is "
                                           "done, a split has its own");
  }
  if (!file) return file.error();
  const auto text = read_file(*file);
  if (!text) return text.error();
  auto index = parse_index({reinterpret_cast<const char*>(text->bytes.data()), text->bytes.size()});
  if (!index) return index.error().with_context(path.string());
  return index;
}

Result<ShardBytes> LocalSource::load(const FileInfo& info) const {
  const auto file = open_file(folder_ / info.basename);
  if (!file) return file.error();
  if (static_cast<std::uint64_t>(file->identity.size_bytes) != info.size_bytes) {
    return Error(ErrorKind::kCorrupted, file->shown + " has " + std::to_string(file->identity.size_bytes) +
                                            " bytes, and the index says " + std::to_string(info.size_bytes));
  }
  auto loaded = options_.maps_files ? map_file(*file) : read_file(*file);
  if (!loaded || !options_.verifies_hashes) return loaded;
  if (const auto sound = VerifiedFiles::of_this_process().check(file->identity, info.hashes, loaded->bytes);
      !sound)
    return sound.error().with_context(file->shown);
  return loaded;
}

Result<ShardBytes> LocalSource::open(const ShardInfo& shard, const std::stop_token&) {
  auto raw = load(shard.raw);
  if (!raw && raw.error().kind() == ErrorKind::kNotFound) {
    const auto compressed = shard.zip ? load(*shard.zip) : Result<ShardBytes>(raw.error());
    if (!compressed && compressed.error().kind() == ErrorKind::kNotFound)
      return Error(ErrorKind::kNotFound, shown(shard) + " is not there, and the index lists it");
    if (!compressed) return compressed;
    raw = unpack(shard, compressed->bytes, options_.verifies_hashes);
    if (!raw) return raw.error().with_context((folder_ / shard.zip->basename).string());
  }
  if (!raw) return raw;
  if (const auto sound = check_shard(raw->bytes, shard.samples); !sound)
    return Error(sound.error().kind(), shown(shard) + " " + sound.error().message());
  return raw;
}

std::string LocalSource::shown(const ShardInfo& shard) const {
  return (folder_ / shard.raw.basename).string();
}

}  // namespace ratoon::mds
