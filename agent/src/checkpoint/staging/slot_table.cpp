#include "agent/src/checkpoint/staging/slot_table.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace ratoon::checkpoint {
namespace {

// Returns the number of that slot in the given state which `is_better` prefers to all others.
template <class IsBetter>
std::optional<std::size_t> find_slot(const std::vector<SlotInfo>& slots, SlotState state,
                                     const IsBetter& is_better) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].state == state && (!best || is_better(slots[i], slots[*best]))) best = i;
  }
  return best;
}

}  // namespace

void SlotTable::adopt(const SlotInfo& info) {
  slots_.push_back(info);
  slots_.back().state = info.is_complete() ? SlotState::kStaged : SlotState::kFree;
  newest_generation_ = std::max(newest_generation_, info.generation);
}

std::optional<std::size_t> SlotTable::next_free() const {
  return find_slot(slots_, SlotState::kFree, [](const SlotInfo& one, const SlotInfo& best) {
    return one.generation > best.generation;
  });
}

void SlotTable::begin_filling(std::size_t slot) {
  in(slot, SlotState::kFree) = {.state = SlotState::kFilling, .generation = ++newest_generation_, .pack = {}};
}

void SlotTable::stage(std::size_t slot, const StagedPack& pack) {
  SlotInfo& info = in(slot, SlotState::kFilling);
  info.pack = pack;  // may run out of memory: then the slot is still being filled
  info.state = SlotState::kStaged;
}

std::optional<std::size_t> SlotTable::begin_writing() {
  const auto slot = find_slot(slots_, SlotState::kStaged, [](const SlotInfo& one, const SlotInfo& best) {
    return one.generation < best.generation;
  });
  if (slot) slots_[*slot].state = SlotState::kWriting;
  return slot;
}

void SlotTable::requeue_write(std::size_t slot) {
  in(slot, SlotState::kWriting).state = SlotState::kStaged;
}

void SlotTable::release(std::size_t slot) {
  const bool is_filling = slots_.at(slot).state == SlotState::kFilling;
  in(slot, is_filling ? SlotState::kFilling : SlotState::kWriting).state = SlotState::kFree;
}

void SlotTable::discard(std::size_t slot) {
  in(slot, SlotState::kStaged).state = SlotState::kFree;
}

std::size_t SlotTable::count(SlotState state) const {
  return static_cast<std::size_t>(std::count_if(
      slots_.begin(), slots_.end(), [state](const SlotInfo& slot) { return slot.state == state; }));
}

SlotInfo& SlotTable::in(std::size_t slot, SlotState state) {
  SlotInfo& info = slots_.at(slot);
  if (info.state != state)
    throw std::logic_error("slot " + std::to_string(slot) + " is in another state than its caller expects");
  return info;
}

}  // namespace ratoon::checkpoint
