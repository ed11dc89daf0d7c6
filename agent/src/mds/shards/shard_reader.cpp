#include "agent/src/mds/shards/shard_reader.h"

#include <algorithm>

namespace ratoon::mds {
namespace {

constexpr std::size_t kPrefetchShardsMax = 4096;

}  // namespace

std::vector<std::uint64_t> shard_sample_counts(const Index& index) {
  std::vector<std::uint64_t> sizes;
  sizes.reserve(index.shards.size());
  for (const ShardInfo& shard : index.shards) sizes.push_back(shard.samples);
  return sizes;
}

ShardReader::ShardReader(DatasetFolders folders)
    : index_(std::move(folders.index)),
      sources_(std::move(folders.sources)),
      table_(shard_sample_counts(index_)),
      prefetch_limit_(folders.prefetch_limit),
      prefetch_count_max_(std::min(kPrefetchShardsMax, folders.limits.count_max / 2 + 1)),
      open_shards_(index_.shards.size(), folders.limits,
                   [this](std::span<const std::size_t> shards) {
                     const MutexLock lock(mutex_);
                     return upcoming_shards_.next_uses(shards);
                   }),
      prefetcher_(folders.fetch_threads, [this](std::size_t shard, const std::stop_token& stop) {
        if (is_expected(shard) && !open_shards_.is_open_or_opening(shard))
          static_cast<void>(open(shard, stop));
      }) {
  // The cache calls this lambda when it evicts a file. Only threads of this ShardReader evict files.
  if (folders.cache != nullptr) folders.cache->set_next_uses([this] { return expected_cache_keys(); });
}

Result<ShardBytes> ShardReader::open(std::size_t shard, const std::stop_token& stop) {
  if (auto found = open_shards_.find(shard)) return std::move(*found);
  const ShardInfo& info = index_.shards[shard];
  auto opened = open_shards_.find_or_open(
      shard, cost_of(shard).cache_bytes, [&] { return source_of(shard).open(info, stop); }, stop);
  if (!opened) return opened.error().with_context("shard " + std::to_string(shard) + " of the data set");
  return opened;
}

std::string ShardReader::display_name(std::size_t shard) const {
  return source_of(shard).display_name(index_.shards[shard]);
}

std::vector<std::size_t> ShardReader::slow_shards_of(std::span<const std::uint64_t> ids) const {
  std::vector<std::size_t> shards;
  for (const std::uint64_t id : ids) {
    if (id >= table_.samples()) continue;
    const std::size_t shard = table_.find(id).shard;
    if (source_of(shard).is_slow_to_open()) shards.push_back(shard);
  }
  return distinct_shards(shards);
}

std::vector<std::size_t> ShardReader::expected_shards() const {
  const MutexLock lock(mutex_);
  return upcoming_shards_.shards();
}

bool ShardReader::is_expected(std::size_t shard) const {
  const MutexLock lock(mutex_);
  return upcoming_shards_.next_uses(std::span(&shard, 1)).front() != UpcomingShards::kNeverUsed;
}

std::vector<objects::CacheKey> ShardReader::expected_cache_keys() const {
  std::vector<objects::CacheKey> keys;
  for (const std::size_t shard : expected_shards()) {
    if (auto key = source_of(shard).cache_key(index_.shards[shard])) keys.push_back(std::move(*key));
  }
  return keys;
}

void ShardReader::expect(std::span<const std::uint64_t> ids) {
  const std::vector<std::size_t> shards = slow_shards_of(ids);
  if (shards.empty()) return;
  const MutexLock changing(expectations_mutex_);
  {
    const MutexLock lock(mutex_);
    upcoming_shards_.expect(shards);
  }
  const bool are_all_coming = std::all_of(shards.begin(), shards.end(), [&](std::size_t shard) {
    return open_shards_.is_open_or_opening(shard);
  });
  if (!are_all_coming) prefetch_expected_shards();
}

void ShardReader::expect_no_more(std::span<const std::uint64_t> ids) {
  const std::vector<std::size_t> shards = slow_shards_of(ids);
  if (shards.empty()) return;
  const MutexLock changing(expectations_mutex_);
  std::vector<std::uint64_t> uses;
  {
    const MutexLock lock(mutex_);
    upcoming_shards_.expect_no_more(shards);
    uses = upcoming_shards_.next_uses(shards);
  }
  // The cache cannot evict an open file, so files that are not needed must be closed to make space for files
  // that are needed.
  for (std::size_t i = 0; i < shards.size(); ++i) {
    if (uses[i] == UpcomingShards::kNeverUsed && cost_of(shards[i]).cache_bytes > 0)
      open_shards_.close(shards[i]);
  }
  if (has_more_to_prefetch_ || !prefetcher_.is_idle()) prefetch_expected_shards();
}

void ShardReader::prefetch_expected_shards() {
  std::vector<std::size_t> next = expected_shards();
  std::vector<ShardCost> costs;
  costs.reserve(next.size());
  for (const std::size_t shard : next) costs.push_back(cost_of(shard));
  const std::size_t count = std::min(count_fitting_shards(costs, prefetch_limit_), prefetch_count_max_);
  has_more_to_prefetch_ = count < next.size();
  next.resize(std::min(count, next.size()));
  std::erase_if(next, [&](std::size_t shard) { return open_shards_.is_open_or_opening(shard); });
  prefetcher_.request_shards(std::move(next));
}

}  // namespace ratoon::mds
