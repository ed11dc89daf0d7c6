// TorchEpochOrder: the order "torch-2.6+" of a stream, which reproduces PyTorch's DistributedSampler. An
// epoch visits the samples of DistributedSampler's list, including its padding, in the order in which the
// ranks of a run in Python take them, batch by batch. Within a batch the samples of rank 0 come first, then
// those of rank 1, and so on. Each rank's share of a global batch is the batch that PyTorch's DataLoader gave
// to that rank.
#pragma once

#include <cstdint>
#include <string>

#include "agent/src/data/order/epoch_order.h"
#include "agent/src/data/order/torch/rank_list_share.h"

namespace ratoon::data {

[[nodiscard]] std::uint64_t torch_epoch_slots(std::uint64_t samples, const TorchOrder& torch);

// Returns the name of the order, such as "torch-2.6+ world_size=8 batch_size=32". The name also contains
// every other option whose value is not the default.
[[nodiscard]] std::string name_of(const TorchOrder& torch);

// Converts positions in the epoch to indices in DistributedSampler's list, and back.
class TorchBatchOrder {
 public:
  TorchBatchOrder(std::uint64_t samples, const TorchOrder& torch);

  [[nodiscard]] std::uint64_t list_index_at(std::uint64_t place) const;
  [[nodiscard]] std::optional<std::uint64_t> position_of(std::uint64_t entry) const;

 private:
  struct Batch {
    std::uint64_t first_row = 0;  // samples of each rank before this batch
    std::uint64_t rows = 0;       // samples of each rank in this batch
  };

  [[nodiscard]] Batch batch_containing_row(std::uint64_t row) const;

  std::uint64_t samples_;
  std::uint64_t world_size_;
  std::uint64_t batch_size_;
  std::uint64_t samples_per_rank_;
};

class TorchEpochOrder : public EpochOrder {
 public:
  TorchEpochOrder(std::uint64_t samples, const TorchOrder& torch, std::uint64_t seed, std::uint64_t epoch);

  [[nodiscard]] std::uint64_t at(std::uint64_t place) const override;
  // The first call of position_of() is slow, because it computes the inverse of the list.
  [[nodiscard]] std::optional<std::uint64_t> position_of(std::uint64_t sample) const override;
  void fill_samples(std::uint64_t place, std::span<std::uint64_t> samples) const override;

 private:
  TorchBatchOrder batch_order_;
  bool is_shuffled_;
  IndexList list_;  // only if is_shuffled_
};

}  // namespace ratoon::data
