#include "agent/src/data/order/epoch_order.h"

#include <cstdlib>
#include <numeric>

#include <ratoon/permutation.h>

#include "agent/src/data/order/block_order.h"
#include "agent/src/data/order/torch/torch_epoch_order.h"

namespace ratoon::data {
namespace {

class ShuffledOrder : public EpochOrder {
 public:
  ShuffledOrder(std::uint64_t samples, std::uint64_t key) : permutation_(samples, key) {}

  [[nodiscard]] std::uint64_t at(std::uint64_t place) const override { return permutation_(place); }
  [[nodiscard]] std::optional<std::uint64_t> position_of(std::uint64_t sample) const override {
    return permutation_.inverse(sample);
  }
  void fill_samples(std::uint64_t place, std::span<std::uint64_t> samples) const override {
    permutation_.fill(place, samples);
  }

 private:
  Permutation permutation_;
};

class SequentialOrder : public EpochOrder {
 public:
  [[nodiscard]] std::uint64_t at(std::uint64_t place) const override { return place; }
  [[nodiscard]] std::optional<std::uint64_t> position_of(std::uint64_t sample) const override {
    return sample;
  }
  void fill_samples(std::uint64_t place, std::span<std::uint64_t> samples) const override {
    std::iota(samples.begin(), samples.end(), place);
  }
};

}  // namespace

std::shared_ptr<const EpochOrder> make_epoch_order(const std::shared_ptr<const Recipe>& recipe,
                                                   std::uint64_t source, std::uint64_t epoch) {
  const RecipeSource& of = recipe->sources[source];
  const std::uint64_t key = permutation_key(recipe->seed, of.name, epoch);
  switch (recipe->order) {
    case SampleOrder::kShuffled:
      return std::make_shared<ShuffledOrder>(of.samples, key);
    case SampleOrder::kBlocks:
      return std::make_shared<BlockOrder>(std::shared_ptr<const RecipeSource>(recipe, &of),
                                          recipe->window_shards, key);
    case SampleOrder::kInOrder:
      return std::make_shared<SequentialOrder>();
    case SampleOrder::kTorch:
      return std::make_shared<TorchEpochOrder>(of.samples, recipe->torch_order, recipe->seed, epoch);
  }
  std::abort();  // all orders are handled above
}

}  // namespace ratoon::data
