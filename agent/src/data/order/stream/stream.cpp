#include <algorithm>
#include <array>
#include <stdexcept>

#include <ratoon/counter_random.h>
#include <ratoon/stream.h>

#include "agent/src/data/order/stream/stream_plan.h"

namespace ratoon {
namespace {

constexpr std::size_t kDigestChunkSlots = 512;

// Returns the 64-bit number that the digest hashes for a slot: the sample and its source, or, if there is one
// source, only the sample.
std::uint64_t slot_hash_input(const Slot& slot) {
  return slot.sample ^ (slot.source * 0x9E3779B97F4A7C15);
}

data::Plan initial_plan(StreamOptions options) {
  std::shared_ptr<const data::Recipe> recipe = data::make_recipe(std::move(options));
  const std::uint64_t global_batch = recipe->global_batch;
  return data::begin_plan(std::move(recipe), 0, 0, global_batch);
}

}  // namespace

Stream::Stream(StreamOptions options)
    : reader_(std::make_shared<const data::Plan>(initial_plan(std::move(options)))) {}

void Stream::use(data::Plan plan) {
  reader_.plan_ = std::make_shared<const data::Plan>(std::move(plan));  // cached orders stay valid
  cursor_ = reader_.plan_->cursor_after(batches_);
}

std::vector<Slot> Stream::take(std::uint32_t rank, std::uint32_t world_size) {
  const SlotRange batch = next_batch();
  const SlotRange mine = share_of(batch, rank, world_size);
  std::vector<Slot> slots;
  slots.reserve(mine.size());
  consume(batch, mine, &slots);
  return slots;
}

SlotRange Stream::next_batch() const {
  note_use();
  return reader_.plan_->batch(batches_);
}

void Stream::advance(std::uint64_t batches) {
  if (batches > data::kSlotsMax)
    throw std::out_of_range("a stream has 2^62 slots, so it cannot have this number of batches");
  static_cast<void>(reader_.plan_->cursor_after(batches_ + batches));  // throws before any batch is consumed
  for (; batches > 0; --batches) consume(next_batch(), {}, nullptr);
}

void Stream::advance_to(std::uint64_t slot) {
  if (slot < cursor_)
    throw std::invalid_argument("slot " + std::to_string(slot) + " is before the cursor at " +
                                std::to_string(cursor_));
  const std::uint64_t batches = reader_.plan_->batches_until(slot) - batches_;
  const std::uint64_t end = reader_.plan_->cursor_after(batches_ + batches);
  if (end != slot)
    throw std::invalid_argument("no batch begins at slot " + std::to_string(slot) +
                                ": the next batch begins at " + std::to_string(end));
  advance(batches);
}

// The digest of the samples covers the whole global batch on every rank. Each rank therefore computes all
// slots of the batch, in chunks that need little memory.
void Stream::consume(SlotRange batch, SlotRange mine, std::vector<Slot>* slots) {
  const std::uint64_t next = reader_.plan_->cursor_after(batches_ + 1);
  std::array<Slot, kDigestChunkSlots> chunk;
  std::uint64_t digest = digest_;
  for (std::uint64_t first = batch.first; first < batch.last; first += kDigestChunkSlots) {
    const std::span<Slot> filled =
        std::span(chunk).first(std::min<std::uint64_t>(kDigestChunkSlots, batch.last - first));
    reader_.fill(first, filled);
    for (const Slot& slot : filled) digest = mix_into(digest, slot_hash_input(slot));
    if (slots == nullptr) continue;
    const std::uint64_t from = std::clamp(mine.first, first, first + filled.size()) - first;
    const std::uint64_t to = std::clamp(mine.last, first, first + filled.size()) - first;
    slots->insert(slots->end(), filled.begin() + static_cast<std::ptrdiff_t>(from),
                  filled.begin() + static_cast<std::ptrdiff_t>(to));
  }
  digest_ = digest;
  ++batches_;
  cursor_ = next;
  note_batch();
}

std::uint64_t Stream::first_known_slot() const {
  return reader_.plan_->first_known_slot;
}

void Stream::change_global_batch(std::uint64_t global_batch) {
  use(data::with_global_batch(*reader_.plan_, batches_, global_batch));
}

void Stream::change_weights(std::span<const double> weights) {
  if (weights.size() != reader_.plan_->recipe->sources.size())
    throw std::invalid_argument("the stream has " + std::to_string(reader_.plan_->recipe->sources.size()) +
                                " sources, but got " + std::to_string(weights.size()) + " weights");
  use(data::with_weights(*reader_.plan_, batches_, data::weights_to_draw_counts(weights)));
}

void Stream::skip_to(std::uint64_t slot) {
  use(data::with_skip(*reader_.plan_, batches_, slot));
}

void Stream::begin_at(std::uint64_t slot, std::uint64_t batches) {
  const data::Plan& plan = *reader_.plan_;
  if (batches_ != 0 || cursor_ != 0 || plan.segments.size() != 1)
    throw std::invalid_argument("a stream that has begun cannot begin at slot " + std::to_string(slot) +
                                ": call skip_to() instead");
  if (slot > data::kSlotsMax || batches > slot)
    throw std::invalid_argument("slot " + std::to_string(slot) + " after " + std::to_string(batches) +
                                " batches is not a position in a stream: each batch has at least one slot");
  data::Plan moved = data::begin_plan(plan.recipe, slot, batches, plan.last_segment().global_batch);
  moved.segments.front().mixture = plan.last_segment().mixture;
  batches_ = batches;
  use(std::move(moved));
}

std::uint64_t Stream::global_batch() const {
  return reader_.plan_->last_segment().global_batch;
}

std::vector<std::uint32_t> Stream::weights() const {
  const data::Plan& plan = *reader_.plan_;
  return plan.recipe->is_mixture() ? plan.last_segment().mixture->weights : plan.recipe->weights;
}

std::vector<SourceAccount> Stream::accounts() const {
  const data::Plan& plan = *reader_.plan_;
  const std::vector<std::uint64_t> counts = data::source_draws_before(plan, cursor_);
  const std::vector<std::uint64_t> skipped = data::skipped_samples_before(plan, batches_);
  std::vector<SourceAccount> accounts(counts.size());
  for (std::size_t i = 0; i < accounts.size(); ++i) {
    const std::uint64_t samples = data::epoch_slots(plan.recipe->sources[i]);
    const std::uint64_t drawn = counts[i] - skipped[i];
    accounts[i] = {.drawn = drawn, .skipped = skipped[i], .epochs = drawn / samples, .rest = drawn % samples};
  }
  return accounts;
}

std::uint64_t Stream::epoch_slots() const {
  return data::epoch_slots(*reader_.plan_->recipe);
}

std::uint64_t Stream::batches_per_epoch() const {
  return reader_.plan_->batch_rule(reader_.plan_->last_segment()).batches_per_epoch();
}

std::uint64_t Stream::batches_until_epoch(std::uint64_t epoch) const {
  if (epoch > data::kSlotsMax / epoch_slots())
    throw std::out_of_range("a stream has 2^62 slots, so it cannot have this number of epochs");
  return reader_.batches_until(epoch * epoch_slots());
}

}  // namespace ratoon
