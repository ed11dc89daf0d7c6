#include "agent/src/mds/shard_reader.h"

namespace ratoon::mds {

std::vector<std::uint64_t> sizes_of(const Index& index) {
  std::vector<std::uint64_t> sizes;
  sizes.reserve(index.shards.size());
  for (const ShardInfo& shard : index.shards) sizes.push_back(shard.samples);
  return sizes;
}

ShardReader::ShardReader(Folders folders)
    : index_(std::move(folders.index)),
      sources_(std::move(folders.sources)),
      table_(sizes_of(index_)),
      open_(index_.shards.size(), folders.limits),
      prefetcher_(folders.fetch_threads, [this](std::size_t shard, const std::stop_token& stop) {
        if (!open_.is_coming(shard)) static_cast<void>(open(shard, stop));
      }) {}

Result<ShardBytes> ShardReader::open(std::size_t shard, const std::stop_token& stop) {
  if (auto found = open_.find(shard)) return std::move(*found);
  const ShardInfo& info = index_.shards[shard];
  const std::uint64_t held_bytes = source_of(shard).holds_files() ? info.raw.size_bytes : 0;
  auto opened =
      open_.find_or_open(shard, held_bytes, [&] { return source_of(shard).open(info, stop); }, stop);
  if (!opened) return opened.error().with_context("shard " + std::to_string(shard) + " of the data set");
  return opened;
}

std::string ShardReader::shown(std::size_t shard) const {
  return source_of(shard).shown(index_.shards[shard]);
}

void ShardReader::expect(std::span<const std::uint64_t> ids) {
  std::vector<std::size_t> shards;
  for (const std::uint64_t id : ids) {
    if (id >= table_.samples()) continue;
    const std::size_t shard = table_.find(id).shard;
    if (source_of(shard).is_slow()) shards.push_back(shard);
  }
  shards = distinct(shards);
  if (shards.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    future_.expect(shards);
    tell_caches(future_.shards());
  }
  std::erase_if(shards, [&](std::size_t shard) { return open_.is_coming(shard); });
  prefetcher_.ask(shards);
}

void ShardReader::tell_caches(std::span<const std::size_t> shards) {
  for (std::size_t source = 0; source < sources_.size(); ++source) {
    std::vector<const ShardInfo*> next;
    for (const std::size_t shard : shards) {
      if (index_.shards[shard].source == source) next.push_back(&index_.shards[shard]);
    }
    if (!next.empty()) sources_[source]->expect(next);
  }
}

}  // namespace ratoon::mds
