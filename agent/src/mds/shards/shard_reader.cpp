#include "agent/src/mds/shards/shard_reader.h"

#include <algorithm>

namespace ratoon::mds {
namespace {

constexpr std::size_t kAheadMax = 4096;

}  // namespace

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
      ahead_max_(folders.ahead_max),
      ahead_count_max_(std::min(kAheadMax, folders.limits.count_max / 2 + 1)),
      open_(index_.shards.size(), folders.limits,
            [this](std::span<const std::size_t> shards) {
              const std::lock_guard lock(mutex_);
              return future_.next_uses(shards);
            }),
      prefetcher_(folders.fetch_threads, [this](std::size_t shard, const std::stop_token& stop) {
        if (!open_.is_coming(shard)) static_cast<void>(open(shard, stop));
      }) {
  // The cache calls this lambda when it evicts a file. The cache evicts files only in threads of this reader.
  if (folders.cache != nullptr) folders.cache->set_future([this] { return keys_of_future(); });
}

Result<ShardBytes> ShardReader::open(std::size_t shard, const std::stop_token& stop) {
  if (auto found = open_.find(shard)) return std::move(*found);
  const ShardInfo& info = index_.shards[shard];
  auto opened = open_.find_or_open(
      shard, cost_of(shard).cache_bytes, [&] { return source_of(shard).open(info, stop); }, stop);
  if (!opened) return opened.error().with_context("shard " + std::to_string(shard) + " of the data set");
  return opened;
}

std::string ShardReader::shown(std::size_t shard) const {
  return source_of(shard).shown(index_.shards[shard]);
}

std::vector<std::size_t> ShardReader::shards_of(std::span<const std::uint64_t> ids) const {
  std::vector<std::size_t> shards;
  for (const std::uint64_t id : ids) {
    if (id >= table_.samples()) continue;
    const std::size_t shard = table_.find(id).shard;
    if (source_of(shard).is_slow()) shards.push_back(shard);
  }
  return distinct(shards);
}

std::vector<std::size_t> ShardReader::known_future() const {
  const std::lock_guard lock(mutex_);
  return future_.shards();
}

std::vector<objects::CacheKey> ShardReader::keys_of_future() const {
  std::vector<objects::CacheKey> keys;
  for (const std::size_t shard : known_future()) {
    if (auto key = source_of(shard).cache_key(index_.shards[shard])) keys.push_back(std::move(*key));
  }
  return keys;
}

void ShardReader::expect(std::span<const std::uint64_t> ids) {
  const std::vector<std::size_t> shards = shards_of(ids);
  if (shards.empty()) return;
  const std::lock_guard changing(changing_);
  {
    const std::lock_guard lock(mutex_);
    future_.expect(shards);
  }
  const bool are_all_coming =
      std::all_of(shards.begin(), shards.end(), [&](std::size_t shard) { return open_.is_coming(shard); });
  if (!are_all_coming) fetch_ahead();
}

void ShardReader::expect_no_more(std::span<const std::uint64_t> ids) {
  const std::vector<std::size_t> shards = shards_of(ids);
  if (shards.empty()) return;
  const std::lock_guard changing(changing_);
  std::vector<std::uint64_t> uses;
  {
    const std::lock_guard lock(mutex_);
    future_.expect_no_more(shards);
    uses = future_.next_uses(shards);
  }
  // The cache cannot evict an open file, so files that are not needed must be closed to make space for files
  // that are needed.
  for (std::size_t i = 0; i < shards.size(); ++i) {
    if (uses[i] == UpcomingShards::kNever && cost_of(shards[i]).cache_bytes > 0) open_.close(shards[i]);
  }
  if (is_more_expected_ || !prefetcher_.is_idle()) fetch_ahead();
}

// The caller of each of the following functions must hold changing_.
void ShardReader::fetch_ahead() {
  std::vector<std::size_t> next = known_future();
  std::vector<ShardCost> costs;
  costs.reserve(next.size());
  for (const std::size_t shard : next) costs.push_back(cost_of(shard));
  const std::size_t count = std::min(fitting(costs, ahead_max_), ahead_count_max_);
  is_more_expected_ = count < next.size();
  next.resize(std::min(count, next.size()));
  std::erase_if(next, [&](std::size_t shard) { return open_.is_coming(shard); });
  prefetcher_.ask(std::move(next));
}

}  // namespace ratoon::mds
