#include "agent/src/checkpoint/staging/slot_rules.h"

#include <algorithm>

namespace ratoon::checkpoint {

Room find_room(const RoomFacts& facts) {
  const std::uint64_t own_bytes = facts.free_slot_bytes.value_or(0);
  const std::uint64_t left_bytes =
      facts.budget_bytes -
      std::min(facts.budget_bytes, facts.taken_bytes - std::min(own_bytes, facts.taken_bytes));
  const bool fits = facts.image_bytes <= left_bytes;
  if (facts.free_slot_bytes) return fits || facts.image_bytes <= own_bytes ? Room::kTake : Room::kNone;
  if (facts.slots < facts.slots_max && fits) return Room::kAdd;
  return facts.slots > 0 ? Room::kWait : Room::kNone;
}

Legacy judge_legacy(const SlotInfo& info, std::uint64_t slab_bytes,
                    const std::optional<CheckpointId>& newest) {
  if (info.state == SlotState::kFilling) return Legacy::kDiscard;
  if (info.pack.image_bytes == 0 || info.pack.image_bytes > slab_bytes) return Legacy::kDiscard;
  if (info.pack.rank.value() >= info.pack.world_size) return Legacy::kDiscard;
  if (newest && info.pack.id <= *newest) return Legacy::kDiscard;
  return info.is_complete() ? Legacy::kFinish : Legacy::kCommit;
}

bool is_tried_again(std::uint32_t tries, bool has_newer_waiting) {
  return tries < (has_newer_waiting ? kTriesMax - 1 : kTriesMax);
}

}  // namespace ratoon::checkpoint
