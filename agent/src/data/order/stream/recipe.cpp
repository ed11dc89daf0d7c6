#include "agent/src/data/order/stream/recipe.h"

#include <algorithm>
#include <set>
#include <stdexcept>

#include <ratoon/counter_random.h>

#include "agent/src/data/order/mixture.h"
#include "agent/src/data/order/torch/torch_epoch_order.h"

namespace ratoon::data {
namespace {

[[noreturn]] void refuse_recipe(const std::string& why) {
  throw std::invalid_argument(why);
}

std::string quoted_source_name(const Source& source) {
  return "source '" + source.name + "'";
}

void check_source_name(const std::string& name) {
  const bool is_printable =
      std::all_of(name.begin(), name.end(), [](unsigned char c) { return c >= 0x20 && c < 0x7f; });
  if (is_printable && name.size() <= kSourceNameBytesMax) return;
  refuse_recipe("a Stream names a source with up to " + std::to_string(kSourceNameBytesMax) +
                " printable ASCII characters, such as a digest of the data");
}

// Replaces, in place, the number of samples of each shard by the number of the shard's first sample.
std::vector<std::uint64_t> shard_starts_of(std::vector<std::uint64_t> shards, const Source& source) {
  std::uint64_t total = 0;
  for (std::uint64_t& shard : shards) {
    const std::uint64_t samples = shard;
    if (samples > kSlotsMax - total)
      refuse_recipe("a Stream takes up to 2^62 samples, but the shards of " + quoted_source_name(source) +
                    " have more");
    shard = total;
    total += samples;
  }
  if (!shards.empty() && source.samples != 0 && source.samples != total) {
    refuse_recipe("a Stream got " + std::to_string(source.samples) + " samples for " +
                  quoted_source_name(source) + ", but its shards have " + std::to_string(total));
  }
  return shards;
}

RecipeSource make_recipe_source(Source source, SampleOrder order, const TorchOrder& torch) {
  check_source_name(source.name);
  const std::uint64_t last_shard = source.shards.empty() ? 0 : source.shards.back();
  std::vector<std::uint64_t> starts = shard_starts_of(std::move(source.shards), source);
  if (source.samples == 0 && !starts.empty()) source.samples = starts.back() + last_shard;
  if (source.samples == 0 || source.samples > kSlotsMax)
    refuse_recipe(quoted_source_name(source) + " needs 1 to 2^62 samples, but has " +
                  std::to_string(source.samples));
  if (order != SampleOrder::kBlocks) starts = {};
  if (order == SampleOrder::kBlocks && starts.empty())
    refuse_recipe("a Stream in the order kBlocks needs the number of samples in each shard of " +
                  quoted_source_name(source));
  return {.name = std::move(source.name),
          .samples = source.samples,
          .shard_starts = std::move(starts),
          .epoch_slots =
              order == SampleOrder::kTorch ? torch_epoch_slots(source.samples, torch) : source.samples};
}

std::vector<Source> sources_of(StreamOptions& options) {
  if (options.sources.empty()) {
    std::vector<Source> one(1);
    one[0].name = std::move(options.source);
    one[0].samples = options.samples;
    return one;
  }
  if (options.samples != 0 || !options.source.empty())
    refuse_recipe("a Stream takes either 'samples' and 'source', or 'sources'");
  if (options.sources.size() > kSourcesMax)
    refuse_recipe("a Stream takes up to " + std::to_string(kSourcesMax) + " sources, found " +
                  std::to_string(options.sources.size()));
  return std::move(options.sources);
}

void check_torch_order(const Recipe& recipe) {
  const TorchOrder& torch = recipe.torch_order;
  if (recipe.is_mixture())
    refuse_recipe("a Stream in PyTorch's order has one source: got " + std::to_string(recipe.sources.size()));
  if (torch.world_size == 0 || torch.batch_size == 0 || torch.batch_size > kGlobalBatchMax)
    refuse_recipe(
        "a Stream in PyTorch's order needs the world size and batch size of Python's run, at least 1 each");
  if (torch.shuffle && torch.lists == nullptr)
    refuse_recipe("a Stream in PyTorch's order needs torch.lists from kept_lists() or torch_stream()");
  if (recipe.epoch_end == EpochEnd::kCarry)
    refuse_recipe(
        "a Stream in PyTorch's order cannot carry a batch into the next epoch: set epoch_end to drop if the "
        "loader drops its last batch, else to short");
  if (epoch_slots(recipe) == 0)
    refuse_recipe("a Stream in PyTorch's order is empty: with drop_last, " +
                  std::to_string(recipe.sources[0].samples) + " samples are too few for " +
                  std::to_string(torch.world_size) + " ranks");
}

void check_mixture(const Recipe& recipe) {
  std::set<std::string_view> names;
  std::uint64_t total = 0;
  for (const RecipeSource& source : recipe.sources) {
    if (!names.insert(source.name).second)
      refuse_recipe("a Stream has two sources called '" + source.name + "': list it once, with its weight");
    if (source.samples > kSlotsMax - total)
      refuse_recipe("a Stream takes up to 2^62 samples, but its sources together have more");
    total += source.samples;
  }
  if (recipe.is_mixture() && recipe.epoch_end != EpochEnd::kCarry)
    refuse_recipe(
        "a Stream of several sources carries batches over the ends of epochs, because the epochs of its "
        "sources end at different slots: epoch_end must be carry");
}

void check_global_batch(const Recipe& recipe) {
  if (can_make_batches(recipe, recipe.global_batch)) return;
  if (recipe.global_batch == 0 || recipe.global_batch > kGlobalBatchMax)
    refuse_recipe("a Stream needs a global batch of 1 to 2^28, found " + std::to_string(recipe.global_batch));
  refuse_recipe("a Stream that drops incomplete batches would have no batch: the global batch of " +
                std::to_string(recipe.global_batch) + " is above the " + std::to_string(epoch_slots(recipe)) +
                " samples of an epoch");
}

}  // namespace

std::shared_ptr<const Recipe> make_recipe(StreamOptions options) {
  auto recipe = std::make_shared<Recipe>();
  recipe->order = options.order;
  recipe->seed = options.seed;
  recipe->epoch_end = options.epoch_end;
  recipe->global_batch = options.global_batch;
  recipe->torch_order = std::move(options.torch);
  std::vector<double> weights;
  for (Source& source : sources_of(options)) {
    weights.push_back(source.weight);
    recipe->sources.push_back(make_recipe_source(std::move(source), options.order, recipe->torch_order));
  }
  recipe->weights = weights_to_draw_counts(weights);
  if (options.order == SampleOrder::kBlocks) {
    if (options.window_shards == 0) refuse_recipe("a Stream in the order kBlocks needs window_shards >= 1");
    recipe->window_shards = options.window_shards;
  }
  check_mixture(*recipe);
  if (options.order == SampleOrder::kTorch) check_torch_order(*recipe);
  check_global_batch(*recipe);
  return recipe;
}

std::uint64_t digest_of(const std::vector<RecipeSource>& sources) {
  std::uint64_t digest = 0;
  for (const RecipeSource& source : sources) {
    digest = mix_into(hash64(digest, source.name), source.samples);
    digest = mix_into(digest, source.shard_starts.size());
    for (const std::uint64_t start : source.shard_starts) digest = mix_into(digest, start);
  }
  return digest;
}

std::string name_of_order(const Recipe& recipe) {
  switch (recipe.order) {
    case SampleOrder::kShuffled:
      return "feistel-1";
    case SampleOrder::kBlocks:
      return "blocks-1";
    case SampleOrder::kInOrder:
      return "in-order-1";
    case SampleOrder::kTorch:
      return name_of(recipe.torch_order);
  }
  return "";
}

std::string_view name_of(EpochEnd epoch_end) {
  switch (epoch_end) {
    case EpochEnd::kCarry:
      return "carry";
    case EpochEnd::kShort:
      return "short";
    case EpochEnd::kDrop:
      return "drop";
  }
  return "";
}

std::uint64_t epoch_slots(const Recipe& recipe) {
  std::uint64_t slots = 0;
  for (const RecipeSource& source : recipe.sources) slots += epoch_slots(source);
  return slots;
}

bool can_make_batches(const Recipe& recipe, std::uint64_t global_batch) {
  if (global_batch == 0 || global_batch > kGlobalBatchMax) return false;
  return recipe.epoch_end != EpochEnd::kDrop || global_batch <= epoch_slots(recipe);
}

}  // namespace ratoon::data
