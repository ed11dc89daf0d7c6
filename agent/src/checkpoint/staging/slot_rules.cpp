#include "agent/src/checkpoint/staging/slot_rules.h"

#include <algorithm>

namespace ratoon::checkpoint {

SlotDecision choose_slot(const SlotFacts& facts) {
  const std::uint64_t own_bytes = facts.free_slot_bytes.value_or(0);
  const std::uint64_t left_bytes =
      facts.budget_bytes -
      std::min(facts.budget_bytes, facts.taken_bytes - std::min(own_bytes, facts.taken_bytes));
  const bool fits = facts.image_bytes <= left_bytes;
  if (facts.free_slot_bytes)
    return fits || facts.image_bytes <= own_bytes ? SlotDecision::kTake : SlotDecision::kNone;
  if (facts.slots < facts.slots_max && fits) return SlotDecision::kAdd;
  return facts.slots > 0 ? SlotDecision::kWait : SlotDecision::kNone;
}

LeftoverAction choose_leftover_action(const SlotInfo& info, std::uint64_t slab_bytes,
                                      const std::optional<CheckpointId>& newest) {
  if (info.state == SlotState::kFilling) return LeftoverAction::kDiscard;
  if (info.pack.image_bytes == 0 || info.pack.image_bytes > slab_bytes) return LeftoverAction::kDiscard;
  if (info.pack.rank.value() >= info.pack.world_size) return LeftoverAction::kDiscard;
  if (newest && info.pack.id <= *newest) return LeftoverAction::kDiscard;
  return info.is_complete() ? LeftoverAction::kFinish : LeftoverAction::kCommit;
}

bool may_retry_write(std::uint32_t tries, bool has_newer_waiting) {
  return tries < (has_newer_waiting ? kWriteTriesMax - 1 : kWriteTriesMax);
}

}  // namespace ratoon::checkpoint
