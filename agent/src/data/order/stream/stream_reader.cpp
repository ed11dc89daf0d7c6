#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

#include <ratoon/stream_reader.h>

#include "agent/src/data/order/epoch_order.h"
#include "agent/src/data/order/stream/stream_plan.h"

namespace ratoon {
namespace {

__extension__ using Uint128 = unsigned __int128;

constexpr std::size_t kReadChunkSlots = 512;
constexpr std::size_t kCachedOrdersMax = 1024;  // the maximum number of cached orders, some 250 KB

void check_rank(std::uint32_t rank, std::uint32_t world_size) {
  if (rank < world_size) return;
  throw std::invalid_argument("rank " + std::to_string(rank) + " does not exist in a world of " +
                              std::to_string(world_size));
}

}  // namespace

SlotRange share_of(SlotRange batch, std::uint32_t rank, std::uint32_t world_size) {
  check_rank(rank, world_size);
  const auto before = [&](std::uint64_t ranks) {
    return batch.first + static_cast<std::uint64_t>(Uint128{batch.size()} * ranks / world_size);
  };
  return {.first = before(rank), .last = before(std::uint64_t{rank} + 1)};
}

double share_weight(SlotRange batch, std::uint32_t rank, std::uint32_t world_size) {
  const std::uint64_t slots = share_of(batch, rank, world_size).size();
  return batch.size() == 0 ? 0 : static_cast<double>(slots) / static_cast<double>(batch.size());
}

StreamReader::StreamReader(std::shared_ptr<const data::Plan> plan)
    : plan_(std::move(plan)), cached_orders_(std::min(plan_->recipe->sources.size(), kCachedOrdersMax)) {}

const data::EpochOrder& StreamReader::order_of(std::uint64_t source, std::uint64_t epoch) const {
  Known& known = cached_orders_[source % cached_orders_.size()];
  if (known.order == nullptr || known.source != source || known.epoch != epoch) {
    known.order = nullptr;  // first, because two orders of many shards would need twice the memory
    known.order = data::make_epoch_order(plan_->recipe, source, epoch);
    known.source = source;
    known.epoch = epoch;
  }
  return *known.order;
}

const data::MixtureBlock& StreamReader::block_of(std::uint64_t slot) const {
  const data::Plan::MixtureRange reach = plan_->mixture_at(slot);
  if (cached_block_ == nullptr || !cached_block_->contains_slot(*reach.mixture, slot)) {
    const std::uint64_t number = (slot - reach.mixture->origin) / data::kMixtureBlockSlots;
    cached_block_ = std::make_shared<const data::MixtureBlock>(reach.mixture, plan_->recipe->seed, number);
  }
  return *cached_block_;
}

void StreamReader::check_known(std::uint64_t first) const {
  if (first >= plan_->first_known_slot) return;
  throw std::out_of_range(
      "slot " + std::to_string(first) +
      " was before a change of the sources, the seed or the order: the stream knows its slots only from " +
      std::to_string(plan_->first_known_slot) + " on");
}

Slot StreamReader::at(std::uint64_t number) const {
  check_known(number);
  std::uint32_t source = 0;
  std::uint64_t count = number;
  if (plan_->recipe->is_mixture()) {
    const data::MixtureBlock& block = block_of(number);
    source = block.source(number - block.start());
    count = block.earlier_draws_of_source(number - block.start());
  }
  const std::uint64_t slots = data::epoch_slots(plan_->recipe->sources[source]);
  const std::uint64_t epoch = count / slots;
  return {.number = number,
          .epoch = epoch,
          .source = source,
          .sample = order_of(source, epoch).at(count % slots)};
}

void StreamReader::fill(std::uint64_t first, std::span<Slot> slots) const {
  if (slots.empty()) return;
  check_known(first);
  if (plan_->recipe->is_mixture()) {
    fill_mixture(first, slots);
  } else {
    fill_source(first, slots);
  }
}

void StreamReader::fill_source(std::uint64_t first, std::span<Slot> slots) const {
  std::array<std::uint64_t, kReadChunkSlots> samples;
  const std::uint64_t an_epoch = data::epoch_slots(plan_->recipe->sources[0]);
  std::uint64_t epoch = first / an_epoch;
  std::uint64_t place = first % an_epoch;
  for (std::size_t done = 0; done < slots.size();) {
    const std::uint64_t run =
        std::min<std::uint64_t>({slots.size() - done, an_epoch - place, kReadChunkSlots});
    order_of(0, epoch).fill_samples(place, std::span(samples).first(run));
    for (std::size_t i = 0; i < run; ++i)
      slots[done + i] = {.number = first + done + i, .epoch = epoch, .source = 0, .sample = samples[i]};
    done += run;
    place += run;
    if (place == an_epoch) {
      place = 0;
      ++epoch;
    }
  }
}

// The draws of one source in a block are consecutive positions in the order of that source. fill_mixture()
// collects the draws of one source, computes their samples together, and writes each sample to the slot that
// draws it.
void StreamReader::fill_mixture(std::uint64_t first, std::span<Slot> slots) const {
  constexpr std::uint16_t kNone = 0xffff;
  std::array<std::uint16_t, kReadChunkSlots> next;
  std::array<std::uint64_t, kReadChunkSlots> samples;
  std::vector<std::uint16_t> heads(plan_->recipe->sources.size(), kNone);  // the first draw of each source
  for (std::size_t done = 0; done < slots.size();) {
    const std::uint64_t start = first + done;
    const data::MixtureBlock& block = block_of(start);
    const std::uint64_t end =
        std::min(block.start() + data::kMixtureBlockSlots, plan_->mixture_at(start).end);
    const std::uint64_t draw = start - block.start();
    const auto run = static_cast<std::size_t>(
        std::min<std::uint64_t>({slots.size() - done, end - start, kReadChunkSlots}));
    for (std::size_t i = run; i-- > 0;) {
      std::uint16_t& head = heads[block.source(draw + i)];
      next[i] = head;
      head = static_cast<std::uint16_t>(i);
    }
    for (std::size_t i = 0; i < run; ++i) {
      const std::uint32_t source = block.source(draw + i);
      std::uint16_t at = heads[source];
      if (at != i) continue;  // this source was handled at an earlier draw
      heads[source] = kNone;
      const std::uint64_t an_epoch = data::epoch_slots(plan_->recipe->sources[source]);
      std::uint64_t epoch = block.earlier_draws_of_source(draw + i) / an_epoch;
      std::uint64_t place = block.earlier_draws_of_source(draw + i) % an_epoch;
      std::size_t draws = 0;
      for (std::uint16_t each = at; each != kNone; each = next[each]) ++draws;
      while (draws > 0) {
        const auto here = static_cast<std::size_t>(std::min<std::uint64_t>(draws, an_epoch - place));
        order_of(source, epoch).fill_samples(place, std::span(samples).first(here));
        for (std::size_t j = 0; j < here; ++j, at = next[at])
          slots[done + at] = {.number = start + at, .epoch = epoch, .source = source, .sample = samples[j]};
        draws -= here;
        place = 0;
        ++epoch;
      }
    }
    done += run;
  }
}

std::optional<std::uint64_t> StreamReader::slot_of(std::uint32_t source, std::uint64_t epoch,
                                                   std::uint64_t sample) const {
  const data::Recipe& recipe = *plan_->recipe;
  if (source >= recipe.sources.size() || sample >= recipe.sources[source].samples)
    throw std::out_of_range("there is no sample " + std::to_string(sample) + " in source " +
                            std::to_string(source));
  const std::uint64_t an_epoch = data::epoch_slots(recipe.sources[source]);
  const std::optional<std::uint64_t> place = order_of(source, epoch).position_of(sample);
  if (!place) return std::nullopt;
  const Uint128 count = Uint128{epoch} * an_epoch + *place;
  if (count >= data::kSlotsMax) return std::nullopt;
  return plan_->slot_of_draw(source, static_cast<std::uint64_t>(count));
}

SlotRange StreamReader::batch(std::uint64_t number) const {
  return plan_->batch(number);
}

std::optional<std::uint64_t> StreamReader::batch_with(std::uint64_t slot) const {
  return plan_->batch_containing(slot);
}

std::uint64_t StreamReader::batches_until(std::uint64_t slot) const {
  return plan_->batches_until(slot);
}

std::uint32_t StreamReader::sources() const {
  return static_cast<std::uint32_t>(plan_->recipe->sources.size());
}

const std::string& StreamReader::source_name(std::uint32_t source) const {
  return plan_->recipe->sources.at(source).name;
}

std::uint64_t StreamReader::source_samples(std::uint32_t source) const {
  return plan_->recipe->sources.at(source).samples;
}

std::uint64_t StreamReader::seed() const {
  return plan_->recipe->seed;
}

std::uint64_t StreamReader::epoch_slots() const {
  return data::epoch_slots(*plan_->recipe);
}

}  // namespace ratoon
