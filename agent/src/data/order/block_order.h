// BlockOrder: the order "blocks-1" of samples. Shards are shuffled and divided into windows of
// `window_shards` shards, and the samples of all shards in a window are shuffled together. A process that
// reads samples in a BlockOrder needs only the shards of one window at a time.
//
// A BlockOrder takes 8 bytes of memory per shard, for the first position of each shard in this epoch, in
// addition to 8 bytes per shard in the stream's recipe.
#pragma once

#include <vector>

#include <ratoon/permutation.h>

#include "agent/src/data/order/epoch_order.h"

namespace ratoon::data {

class BlockOrder : public EpochOrder {
 public:
  BlockOrder(std::shared_ptr<const RecipeSource> source, std::uint64_t window_shards, std::uint64_t key);

  [[nodiscard]] std::uint64_t at(std::uint64_t place) const override;
  [[nodiscard]] std::optional<std::uint64_t> position_of(std::uint64_t sample) const override;
  void fill_samples(std::uint64_t place, std::span<std::uint64_t> samples) const override;

 private:
  struct Window {
    std::uint64_t number = 0;
    std::uint64_t first_shard = 0;  // in this epoch's order of shards
    std::uint64_t last_shard = 0;
    std::uint64_t start = 0;  // the window's first place
    std::uint64_t end = 0;
  };

  [[nodiscard]] Window make_window(std::uint64_t number) const;
  [[nodiscard]] Window window_at(std::uint64_t place) const;
  [[nodiscard]] Permutation window_permutation(const Window& window) const;
  // Returns the shard that would contain position `place` of the epoch if the samples of the window were not
  // shuffled. The result is an index into this epoch's order of shards.
  [[nodiscard]] std::uint64_t shard_at(const Window& window, std::uint64_t place) const;

  std::shared_ptr<const RecipeSource> source_;
  std::uint64_t window_shards_;
  std::uint64_t window_key_;
  Permutation shard_order_;
  std::vector<std::uint64_t> shard_starts_;  // the first place of each shard, in this epoch's order of shards
};

}  // namespace ratoon::data
