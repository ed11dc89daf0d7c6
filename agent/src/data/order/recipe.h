// What the slots of a stream are made of, checked: its sources, how each of their epochs is ordered, and the
// seed. All that never changes while a stream lives.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <ratoon/stream_options.h>

namespace ratoon::data {

constexpr std::uint64_t kSlotsMax = std::uint64_t{1} << 62;
constexpr std::uint64_t kGlobalBatchMax = std::uint64_t{1} << 28;  // a share of it is a list in memory
constexpr std::size_t kSourcesMax = 4096;
constexpr std::size_t kNameBytesMax = 256;

struct RecipeSource {
  std::string name;
  std::uint64_t samples = 0;
  std::vector<std::uint64_t>
      shard_starts;  // the first sample of each shard; only where blocks are made of them
  std::uint64_t epoch_slots = 0;
};

struct Recipe {
  std::vector<RecipeSource> sources;
  SampleOrder order = SampleOrder::kShuffled;
  std::uint64_t window_shards = 0;  // 0 for orders that have none
  TorchOrder torch;                 // for kTorch
  std::uint64_t seed = 0;
  EpochEnd epoch_end = EpochEnd::kCarry;
  std::uint64_t global_batch = 0;      // what the options said; the plan has the one in use
  std::vector<std::uint32_t> weights;  // likewise; they sum to kMixtureBlock

  [[nodiscard]] bool is_mixture() const { return sources.size() > 1; }
};

// Throws std::invalid_argument if no stream can be made of the options; it says why.
[[nodiscard]] std::shared_ptr<const Recipe> make_recipe(StreamOptions options);

// Of names, samples and shards: what must be equal for two runs to have the same data.
[[nodiscard]] std::uint64_t digest_of(const std::vector<RecipeSource>& sources);

// How the order of an epoch is called in states: "feistel-1". Equal names mean equal orders.
[[nodiscard]] std::string name_of_order(const Recipe& recipe);
[[nodiscard]] std::string_view name_of(EpochEnd epoch_end);

// How many slots an epoch of a source has.
[[nodiscard]] inline std::uint64_t epoch_slots(const RecipeSource& source) {
  return source.epoch_slots;
}
// And one of the stream.
[[nodiscard]] std::uint64_t epoch_slots(const Recipe& recipe);

// Whether epochs can be cut into batches of that size.
[[nodiscard]] bool makes_batches(const Recipe& recipe, std::uint64_t global_batch);

}  // namespace ratoon::data
