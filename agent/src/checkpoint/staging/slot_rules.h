// Decisions about staged memory that need no slot: how much of it there may be, what becomes of what a dead
// process left, how often a write is tried.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "agent/src/checkpoint/staging/slot_info.h"

namespace ratoon::checkpoint {

// What a save finds.
struct RoomFacts {
  std::uint64_t image_bytes = 0;   // what has to be staged
  std::uint64_t budget_bytes = 0;  // of all slots together
  std::uint64_t taken_bytes = 0;   // by the slots that there are
  std::size_t slots = 0;
  std::size_t slots_max = 0;
  std::optional<std::uint64_t> free_slot_bytes{};  // of the slot that would be taken; none: all are busy
};
enum class Room {
  kTake,  // the free slot, which may have to grow
  kAdd,   // one more slot
  kWait,  // until one is free
  kNone,  // and never will be: what is saved is written from where it lies, and training waits for it
};
[[nodiscard]] Room find_room(const RoomFacts& facts);

enum class Legacy {
  kFinish,   // write it: nobody else has these bytes
  kCommit,   // it was written, and its process may have died before the commit
  kDiscard,  // nothing whole is in it, or nobody needs it
};
// `newest` is the newest checkpoint that is committed. What is not newer than that cannot be resumed from.
[[nodiscard]] Legacy judge_legacy(const SlotInfo& info, std::uint64_t slab_bytes,
                                  const std::optional<CheckpointId>& newest);

// A disk that refused once may take it the next time; memory keeps the pack meanwhile. But a newer one that
// waits for the slot is worth more than a third try.
inline constexpr std::uint32_t kTriesMax = 3;
[[nodiscard]] bool is_tried_again(std::uint32_t tries, bool has_newer_waiting);

}  // namespace ratoon::checkpoint
