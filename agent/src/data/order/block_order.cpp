#include "agent/src/data/order/block_order.h"

#include <algorithm>
#include <array>

#include <ratoon/counter_random.h>

namespace ratoon::data {
namespace {

constexpr std::size_t kFillChunkSamples = 256;

std::uint64_t size_of_shard(const RecipeSource& source, std::uint64_t shard) {
  const std::uint64_t end =
      shard + 1 < source.shard_starts.size() ? source.shard_starts[shard + 1] : source.samples;
  return end - source.shard_starts[shard];
}

// Returns the last shard that begins at or before the position `place` of the epoch. The result is never an
// empty shard, because the shard after an empty shard begins at the same position.
std::uint64_t find_shard_at(const std::vector<std::uint64_t>& starts, std::uint64_t from, std::uint64_t to,
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
      shard_order_(source_->shard_starts.size(), hash64(key, "shards")),
      shard_starts_(source_->shard_starts.size()) {
  shard_order_.fill(0, shard_starts_);
  std::uint64_t place = 0;
  for (std::uint64_t& entry : shard_starts_) {
    const std::uint64_t size = size_of_shard(*source_, entry);
    entry = place;
    place += size;
  }
}

BlockOrder::Window BlockOrder::make_window(std::uint64_t number) const {
  const std::uint64_t first = number * window_shards_;
  const std::uint64_t last = std::min<std::uint64_t>(first + window_shards_, shard_starts_.size());
  return {.number = number,
          .first_shard = first,
          .last_shard = last,
          .start = shard_starts_[first],
          .end = last < shard_starts_.size() ? shard_starts_[last] : source_->samples};
}

BlockOrder::Window BlockOrder::window_at(std::uint64_t place) const {
  return make_window(find_shard_at(shard_starts_, 0, shard_starts_.size(), place) / window_shards_);
}

Permutation BlockOrder::window_permutation(const Window& window) const {
  return Permutation(window.end - window.start, mix_into(window_key_, window.number));
}

std::uint64_t BlockOrder::shard_at(const Window& window, std::uint64_t place) const {
  return find_shard_at(shard_starts_, window.first_shard, window.last_shard, place);
}

std::uint64_t BlockOrder::at(std::uint64_t place) const {
  const Window in = window_at(place);
  const std::uint64_t unshuffled = in.start + window_permutation(in)(place - in.start);
  const std::uint64_t shard = shard_at(in, unshuffled);
  return source_->shard_starts[shard_order_(shard)] + unshuffled - shard_starts_[shard];
}

std::optional<std::uint64_t> BlockOrder::position_of(std::uint64_t sample) const {
  const std::uint64_t shard = find_shard_at(source_->shard_starts, 0, source_->shard_starts.size(), sample);
  const std::uint64_t moved = shard_order_.inverse(shard);
  const Window in = make_window(moved / window_shards_);
  const std::uint64_t unshuffled = shard_starts_[moved] + sample - source_->shard_starts[shard];
  return in.start + window_permutation(in).inverse(unshuffled - in.start);
}

void BlockOrder::fill_samples(std::uint64_t place, std::span<std::uint64_t> samples) const {
  std::array<std::uint64_t, kFillChunkSamples> shards{};
  while (!samples.empty()) {
    const Window in = window_at(place);
    const Permutation order = window_permutation(in);
    std::span<std::uint64_t> run = samples.first(std::min<std::uint64_t>(samples.size(), in.end - place));
    samples = samples.subspan(run.size());
    for (; !run.empty(); run = run.subspan(std::min(run.size(), kFillChunkSamples))) {
      const std::span<std::uint64_t> chunk = run.first(std::min(run.size(), kFillChunkSamples));
      order.fill(place - in.start, chunk);
      for (std::size_t i = 0; i < chunk.size(); ++i) {
        shards[i] = shard_at(in, in.start + chunk[i]);
        chunk[i] += in.start - shard_starts_[shards[i]];
      }
      const std::span<std::uint64_t> moved = std::span(shards).first(chunk.size());
      shard_order_.map(moved);
      for (std::size_t i = 0; i < chunk.size(); ++i) chunk[i] += source_->shard_starts[shards[i]];
      place += chunk.size();
    }
  }
}

}  // namespace ratoon::data
