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

Leftover judge_leftover(const SlotInfo& info, std::uint64_t slab_bytes,
                        const std::optional<CheckpointId>& newest) {
  if (info.state == SlotState::kFilling) return Leftover::kDiscard;
  if (info.pack.image_bytes == 0 || info.pack.image_bytes > slab_bytes) return Leftover::kDiscard;
  if (info.pack.rank.value() >= info.pack.world_size) return Leftover::kDiscard;
  if (newest && info.pack.id <= *newest) return Leftover::kDiscard;
  return info.is_complete() ? Leftover::kFinish : Leftover::kCommit;
}

bool is_tried_again(std::uint32_t tries, bool has_newer_waiting) {
  return tries < (has_newer_waiting ? kTriesMax - 1 : kTriesMax);
}

}  // namespace ratoon::checkpoint
