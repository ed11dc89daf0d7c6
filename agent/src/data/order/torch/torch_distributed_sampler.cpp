#include <algorithm>
#include <stdexcept>

#include <ratoon/torch_order.h>

#include "agent/src/data/order/torch/rank_list_share.h"
#include "agent/src/data/order/torch/torch_lists.h"
#include "agent/src/data/order/torch/torch_sampler_state.h"

namespace ratoon {
namespace {

// PyTorch's sampler computes the number of samples per rank with floating-point numbers. The result is not
// exact for more than 2^53 samples.
constexpr std::uint64_t kSamplesMax = std::uint64_t{1} << 53;

data::RankListShare rank_list_share_of(const DistributedSamplerOptions& options, std::uint64_t start) {
  return {.samples = options.samples,
          .start = start,
          .world_size = options.world_size,
          .rank = options.rank,
          .drop_last = options.drop_last};
}

}  // namespace

DistributedSampler::DistributedSampler(DistributedSamplerOptions options) : options_(std::move(options)) {
  if (options_.samples > kSamplesMax) {
    throw std::invalid_argument("a DistributedSampler takes up to 2^53 samples, found " +
                                std::to_string(options_.samples));
  }
  if (options_.rank >= options_.world_size) {
    throw std::invalid_argument("rank " + std::to_string(options_.rank) + " does not exist in a world of " +
                                std::to_string(options_.world_size));
  }
}

void DistributedSampler::set_epoch(std::uint64_t epoch) {
  if (epoch != epoch_) seek({.epoch = epoch, .consumed = 0});
}

std::uint64_t DistributedSampler::size() const {
  return rank_list_share_of(options_, skipped_entries_).size();
}

const IndexList& DistributedSampler::list() const {
  const std::uint64_t seed = options_.seed + (options_.repeat_epoch_0 ? 0 : epoch_);
  if (!index_list_ || index_list_->first != seed) {
    index_list_.reset();  // two lists at a time would need twice the memory
    index_list_.emplace(
        seed, data::cached_torch_randperm(options_.samples, seed, options_.release, options_.list_folder));
  }
  return index_list_->second;
}

std::uint64_t DistributedSampler::at(std::uint64_t place) const {
  if (place >= size()) {
    throw std::out_of_range("place " + std::to_string(place) + " is not below " + std::to_string(size()) +
                            ", the number of samples of a rank in this epoch");
  }
  const std::uint64_t entry = rank_list_share_of(options_, skipped_entries_).entry(place);
  return options_.shuffle ? list()[entry] : entry;
}

std::vector<std::uint64_t> DistributedSampler::fetch(std::uint64_t count) {
  std::vector<std::uint64_t> samples(std::min(count, size() - fetched_rounds_));
  for (std::uint64_t& sample : samples) sample = at(fetched_rounds_++);
  return samples;
}

void DistributedSampler::advance(std::uint64_t samples) {
  if (samples > remaining()) {
    throw std::invalid_argument("advance(" + std::to_string(samples) + ") goes beyond the end of epoch " +
                                std::to_string(epoch_) + ": " + std::to_string(remaining()) +
                                " samples of this rank are left. Call set_epoch() first");
  }
  progress_ += samples;
  fetched_rounds_ = std::max(fetched_rounds_, progress_);
}

ListPosition DistributedSampler::position() const {
  // When this rank has taken all its samples, no rank of any world size has a sample left in the epoch. All
  // remaining entries of the list are padding, or belong to no rank.
  const bool is_done = remaining() == 0;
  return {.epoch = epoch_,
          .consumed = is_done ? options_.samples : skipped_entries_ + progress_ * options_.world_size};
}

void DistributedSampler::seek(ListPosition position) {
  if (position.consumed > options_.samples) {
    throw std::invalid_argument("there is no entry " + std::to_string(position.consumed) + " in a list of " +
                                std::to_string(options_.samples));
  }
  epoch_ = position.epoch;
  skipped_entries_ = position.consumed % options_.world_size;
  progress_ = position.consumed / options_.world_size;
  fetched_rounds_ = progress_;
}

std::string DistributedSampler::save_state() const {
  return data::encode_distributed_state(options_, position());
}

void DistributedSampler::load_state(std::string_view state) {
  seek(data::read_distributed_state(state, options_));
}

BatchRanges::BatchRanges(std::uint64_t samples, std::uint64_t batch_size, bool drop_last)
    : samples_(samples), batch_size_(batch_size) {
  if (batch_size == 0) throw std::invalid_argument("batch_size must be at least 1, found 0");
  batches_ = samples / batch_size + (!drop_last && samples % batch_size != 0 ? 1 : 0);
}

std::pair<std::uint64_t, std::uint64_t> BatchRanges::operator[](std::uint64_t batch) const {
  if (batch >= batches_)
    throw std::out_of_range("batch " + std::to_string(batch) + " is not below " + std::to_string(batches_));
  return {batch * batch_size_, std::min((batch + 1) * batch_size_, samples_)};
}

}  // namespace ratoon
