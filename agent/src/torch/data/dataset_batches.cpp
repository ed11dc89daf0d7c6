#include <ratoon/torch/dataset_batches.h>

#include "agent/src/torch/data/samples_of.h"

namespace ratoon::torch::detail {

AheadSampler::AheadSampler(StreamReader reader, std::uint64_t batch, std::uint32_t rank,
                           std::uint32_t world_size, const std::string& purpose)
    : reader_(std::move(reader)), batch_(batch), rank_(rank), world_size_(world_size) {
  for (std::uint32_t source = 0; source < reader_.sources(); ++source)
    random_keys_.push_back(read_random_key(reader_.seed(), purpose, reader_.source_name(source)));
}

std::optional<SampleReads> AheadSampler::next(std::size_t) {
  const SlotRange mine = share_of(reader_.batch(batch_), rank_, world_size_);
  if (mine.size() == 0) return std::nullopt;
  ++batch_;
  std::vector<Slot> slots(mine.size());
  reader_.fill(mine.first, slots);
  SampleReads reads{.indices = samples_of(reader_, slots)};
  for (const Slot& slot : slots)
    reads.random.push_back(sample_random(random_keys_[slot.source], slot.epoch, slot.sample));
  return reads;
}

BatchCursor::BatchCursor(Stream& stream, std::uint32_t rank, std::uint32_t world_size)
    : stream_(&stream),
      rank_(rank),
      world_size_(world_size),
      reader_(stream.reader()),
      trained_batches_(stream.batches()),
      next_batch_(trained_batches_) {
  static_cast<void>(share_of({}, rank, world_size));  // throws if the rank does not exist
}

bool BatchCursor::is_in_step() const {
  const std::uint64_t now = stream_->batches();
  return now >= trained_batches_ && now <= next_batch_ && reader_.is_same_plan(stream_->reader());
}

bool BatchCursor::was_moved() {
  const bool is_elsewhere = !is_in_step();
  trained_batches_ = stream_->batches();
  if (is_elsewhere) {
    reader_ = stream_->reader();
    next_batch_ = trained_batches_;
  }
  return is_elsewhere;
}

void BatchCursor::train(std::uint64_t index) {
  if (!is_in_step() || index != stream_->batches() || index >= next_batch_)
    throw std::invalid_argument("batch " + std::to_string(index) +
                                " cannot be trained now: the stream is at batch " +
                                std::to_string(stream_->batches()) + ", and batches below " +
                                std::to_string(next_batch_) + " were returned");
  stream_->advance();
  trained_batches_ = stream_->batches();
}

std::uint64_t BatchCursor::epoch() const {
  return range().first / stream_->epoch_slots();
}

std::uint64_t BatchCursor::index_in_epoch() const {
  return next_batch_ - reader_.batches_until(epoch() * stream_->epoch_slots());
}

std::size_t BatchCursor::largest_share() const {
  return (stream_->global_batch() + world_size_ - 1) / world_size_;
}

std::uint64_t BatchCursor::samples() const {
  return count_samples(reader_);
}

}  // namespace ratoon::torch::detail
