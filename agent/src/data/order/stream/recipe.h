// A Recipe is the checked definition of a stream: its sources, the order of their epochs, and the seed. A
// stream never changes its recipe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <ratoon/stream_options.h>

namespace ratoon::data {

constexpr std::uint64_t kSlotsMax = std::uint64_t{1} << 62;
constexpr std::uint64_t kGlobalBatchMax = std::uint64_t{1} << 28;  // limits a rank's list of samples
constexpr std::size_t kSourcesMax = 4096;
constexpr std::size_t kSourceNameBytesMax = 256;

struct RecipeSource {
  std::string name;
  std::uint64_t samples = 0;
  std::vector<std::uint64_t> shard_starts;  // the first sample of each shard; only for SampleOrder::kBlocks
  std::uint64_t epoch_slots = 0;
};

struct Recipe {
  std::vector<RecipeSource> sources;
  SampleOrder order = SampleOrder::kShuffled;
  std::uint64_t window_shards = 0;  // 0 for orders without a window
  TorchOrder torch_order;           // for kTorch
  std::uint64_t seed = 0;
  EpochEnd epoch_end = EpochEnd::kCarry;
  std::uint64_t global_batch = 0;      // from the options; the plan has the current one
  std::vector<std::uint32_t> weights;  // from the options; they sum to kMixtureBlockSlots

  [[nodiscard]] bool is_mixture() const { return sources.size() > 1; }
};

// Throws std::invalid_argument with the reason if the options do not describe a valid stream.
[[nodiscard]] std::shared_ptr<const Recipe> make_recipe(StreamOptions options);

// Returns a digest of the sources' names, samples and shards. Runs on the same data have the same digest.
[[nodiscard]] std::uint64_t digest_of(const std::vector<RecipeSource>& sources);

// Returns the name of the epochs' order in saved states, such as "feistel-1". Two orders with equal names are
// equal.
[[nodiscard]] std::string name_of_order(const Recipe& recipe);
[[nodiscard]] std::string_view name_of(EpochEnd epoch_end);

// Returns the number of slots (samples that are visited) in an epoch of one source.
[[nodiscard]] inline std::uint64_t epoch_slots(const RecipeSource& source) {
  return source.epoch_slots;
}
// Returns the number of slots in an epoch of the whole stream.
[[nodiscard]] std::uint64_t epoch_slots(const Recipe& recipe);

// Returns true if an epoch can be divided into batches of `global_batch` samples.
[[nodiscard]] bool can_make_batches(const Recipe& recipe, std::uint64_t global_batch);

}  // namespace ratoon::data
