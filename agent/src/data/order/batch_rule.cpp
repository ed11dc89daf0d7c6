#include "agent/src/data/order/batch_rule.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "agent/src/data/order/stream/recipe.h"

namespace ratoon::data {
namespace {

__extension__ using Uint128 = unsigned __int128;

std::uint64_t ceil_divide(std::uint64_t a, std::uint64_t b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

std::uint64_t checked_slot(Uint128 slot, std::uint64_t batches) {
  if (slot <= kSlotsMax) return static_cast<std::uint64_t>(slot);
  throw std::out_of_range("a stream has 2^62 slots, and " + std::to_string(batches) +
                          " further batches need more slots");
}

}  // namespace

// Returns the number of batches in the last `slots` slots of an epoch.
std::uint64_t BatchRule::batches_in(std::uint64_t slots) const {
  return epoch_end == EpochEnd::kDrop ? slots / global_batch : ceil_divide(slots, global_batch);
}

std::uint64_t BatchRule::next_batch_start(std::uint64_t slot) const {
  const std::uint64_t left = slots_left_in_epoch(slot);
  return epoch_end == EpochEnd::kDrop && left < global_batch ? slot + left : slot;
}

SlotRange BatchRule::batch_at(std::uint64_t slot) const {
  const std::uint64_t size =
      epoch_end == EpochEnd::kShort ? std::min(global_batch, slots_left_in_epoch(slot)) : global_batch;
  return {.first = slot, .last = checked_slot(Uint128{slot} + size, 1)};
}

std::uint64_t BatchRule::start_after_batches(std::uint64_t slot, std::uint64_t batches) const {
  const Uint128 here = slot;
  if (epoch_end == EpochEnd::kCarry) return checked_slot(here + Uint128{batches} * global_batch, batches);
  const std::uint64_t left = slots_left_in_epoch(slot);
  const std::uint64_t in_this_epoch = batches_in(left);
  if (batches < in_this_epoch) return slot + batches * global_batch;
  const std::uint64_t more = batches - in_this_epoch;
  const std::uint64_t an_epoch = batches_per_epoch();
  return checked_slot(
      here + left + Uint128{more / an_epoch} * epoch_slots + Uint128{more % an_epoch} * global_batch,
      batches);
}

std::uint64_t BatchRule::batches_up_to(std::uint64_t slot, std::uint64_t goal) const {
  if (goal <= slot) return 0;
  const std::uint64_t distance = goal - slot;
  if (epoch_end == EpochEnd::kCarry) return ceil_divide(distance, global_batch);
  const std::uint64_t left = slots_left_in_epoch(slot);
  const auto first_batches = [this](std::uint64_t slots, std::uint64_t of) {
    return std::min(batches_in(of), ceil_divide(slots, global_batch));
  };
  if (distance <= left) return first_batches(distance, left);
  const std::uint64_t beyond = distance - left;
  return batches_in(left) + beyond / epoch_slots * batches_per_epoch() +
         first_batches(beyond % epoch_slots, epoch_slots);
}

}  // namespace ratoon::data
