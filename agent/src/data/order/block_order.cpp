#include "agent/src/data/order/block_order.h"

#include <algorithm>
#include <array>

#include <ratoon/counter_random.h>

namespace ratoon::data {
namespace {

constexpr std::size_t kBlockChunk = 256;

std::uint64_t size_of_shard(const RecipeSource& source, std::uint64_t shard) {
  const std::uint64_t end =
      shard + 1 < source.shard_starts.size() ? source.shard_starts[shard + 1] : source.samples;
  return end - source.shard_starts[shard];
}

// Returns the last shard that begins at or before the position `place` of the epoch. An empty shard is never
// returned, because the shard after it begins at the same position.
std::uint64_t last_start(const std::vector<std::uint64_t>& starts, std::uint64_t from, std::uint64_t to,
                         std::uint64_t place) {
  const auto begin = starts.begin();
  const auto after = std::upper_bound(begin + static_cast<std::ptrdiff_t>(from),
                                      begin + static_cast<std::ptrdiff_t>(to), place);
  return static_cast<std::uint64_t>(after - begin) - 1;
}

}  // namespace

BlockOrder::BlockOrder(std::shared_ptr<const RecipeSource> source, std::uint64_t window_shards,
                       std::uint64_t key)
    : source_(std::move(source)),
      window_shards_(std::min<std::uint64_t>(window_shards, source_->shard_starts.size())),
      window_key_(hash64(key, "window")),
      shards_(source_->shard_starts.size(), hash64(key, "shards")),
      starts_(source_->shard_starts.size()) {
  shards_.fill(0, starts_);
  std::uint64_t place = 0;
  for (std::uint64_t& entry : starts_) {
    const std::uint64_t size = size_of_shard(*source_, entry);
    entry = place;
    place += size;
  }
}

BlockOrder::Window BlockOrder::window(std::uint64_t number) const {
  const std::uint64_t first = number * window_shards_;
  const std::uint64_t last = std::min<std::uint64_t>(first + window_shards_, starts_.size());
  return {.number = number,
          .first_shard = first,
          .last_shard = last,
          .start = starts_[first],
          .end = last < starts_.size() ? starts_[last] : source_->samples};
}

BlockOrder::Window BlockOrder::window_at(std::uint64_t place) const {
  return window(last_start(starts_, 0, starts_.size(), place) / window_shards_);
}

Permutation BlockOrder::order_in(const Window& window) const {
  return Permutation(window.end - window.start, mix_into(window_key_, window.number));
}

std::uint64_t BlockOrder::shard_at(const Window& window, std::uint64_t place) const {
  return last_start(starts_, window.first_shard, window.last_shard, place);
}

std::uint64_t BlockOrder::at(std::uint64_t place) const {
  const Window in = window_at(place);
  const std::uint64_t unshuffled = in.start + order_in(in)(place - in.start);
  const std::uint64_t shard = shard_at(in, unshuffled);
  return source_->shard_starts[shards_(shard)] + unshuffled - starts_[shard];
}

std::optional<std::uint64_t> BlockOrder::place_of(std::uint64_t sample) const {
  const std::uint64_t shard = last_start(source_->shard_starts, 0, source_->shard_starts.size(), sample);
  const std::uint64_t moved = shards_.inverse(shard);
  const Window in = window(moved / window_shards_);
  const std::uint64_t unshuffled = starts_[moved] + sample - source_->shard_starts[shard];
  return in.start + order_in(in).inverse(unshuffled - in.start);
}

void BlockOrder::fill(std::uint64_t place, std::span<std::uint64_t> samples) const {
  std::array<std::uint64_t, kBlockChunk> shards{};
  while (!samples.empty()) {
    const Window in = window_at(place);
    const Permutation order = order_in(in);
    std::span<std::uint64_t> run = samples.first(std::min<std::uint64_t>(samples.size(), in.end - place));
    samples = samples.subspan(run.size());
    for (; !run.empty(); run = run.subspan(std::min(run.size(), kBlockChunk))) {
      const std::span<std::uint64_t> chunk = run.first(std::min(run.size(), kBlockChunk));
      order.fill(place - in.start, chunk);
      for (std::size_t i = 0; i < chunk.size(); ++i) {
        shards[i] = shard_at(in, in.start + chunk[i]);
        chunk[i] += in.start - starts_[shards[i]];
      }
      const std::span<std::uint64_t> moved = std::span(shards).first(chunk.size());
      shards_.map(moved);
      for (std::size_t i = 0; i < chunk.size(); ++i) chunk[i] += source_->shard_starts[shards[i]];
      place += chunk.size();
    }
  }
}

}  // namespace ratoon::data
