#include "agent/src/data/order/torch/torch_epoch_order.h"

#include <algorithm>

namespace ratoon::data {
namespace {

std::uint64_t samples_per_rank(std::uint64_t samples, const TorchOrder& torch) {
  if (torch.world_size == 0) return 0;  // check_torch_order() refuses it later
  return RankListShare{.samples = samples, .world_size = torch.world_size, .drop_last = torch.drop_last}
      .size();
}

}  // namespace

std::uint64_t torch_epoch_slots(std::uint64_t samples, const TorchOrder& torch) {
  return samples_per_rank(samples, torch) * torch.world_size;
}

std::string name_of(const TorchOrder& torch) {
  std::string name(name_of(torch.release));
  name +=
      " world_size=" + std::to_string(torch.world_size) + " batch_size=" + std::to_string(torch.batch_size);
  if (!torch.shuffle) name += " shuffle=false";
  if (torch.drop_last) name += " drop_last=true";
  if (torch.repeat_epoch_0) name += " repeat_epoch_0=true";
  return name;
}

TorchBatchOrder::TorchBatchOrder(std::uint64_t samples, const TorchOrder& torch)
    : samples_(samples),
      world_size_(torch.world_size),
      batch_size_(torch.batch_size),
      samples_per_rank_(samples_per_rank(samples, torch)) {}

TorchBatchOrder::Batch TorchBatchOrder::batch_containing_row(std::uint64_t row) const {
  const std::uint64_t first = row - row % batch_size_;
  return {.first_row = first, .rows = std::min(batch_size_, samples_per_rank_ - first)};
}

std::uint64_t TorchBatchOrder::list_index_at(std::uint64_t place) const {
  const Batch in = batch_containing_row(place / world_size_);
  const std::uint64_t in_batch = place - in.first_row * world_size_;
  const std::uint64_t rank = in_batch / in.rows;
  const std::uint64_t row = in.first_row + in_batch % in.rows;
  return (row * world_size_ + rank) % samples_;
}

std::optional<std::uint64_t> TorchBatchOrder::position_of(std::uint64_t entry) const {
  const std::uint64_t row = entry / world_size_;
  if (row >= samples_per_rank_) return std::nullopt;  // dropped
  const Batch in = batch_containing_row(row);
  return in.first_row * world_size_ + entry % world_size_ * in.rows + (row - in.first_row);
}

TorchEpochOrder::TorchEpochOrder(std::uint64_t samples, const TorchOrder& torch, std::uint64_t seed,
                                 std::uint64_t epoch)
    : batch_order_(samples, torch), is_shuffled_(torch.shuffle) {
  if (is_shuffled_)
    list_ = torch.lists->randperm(samples, seed + (torch.repeat_epoch_0 ? 0 : epoch), torch.release);
}

std::uint64_t TorchEpochOrder::at(std::uint64_t place) const {
  const std::uint64_t entry = batch_order_.list_index_at(place);
  return is_shuffled_ ? list_[entry] : entry;
}

std::optional<std::uint64_t> TorchEpochOrder::position_of(std::uint64_t sample) const {
  return batch_order_.position_of(is_shuffled_ ? list_.place_of(sample) : sample);
}

void TorchEpochOrder::fill_samples(std::uint64_t place, std::span<std::uint64_t> samples) const {
  for (std::uint64_t& sample : samples) sample = at(place++);
}

}  // namespace ratoon::data
