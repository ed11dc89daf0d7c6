// Pure functions that decide when to add a slot, how to treat the slots of a process that died, and how often
// to try a write. A slot is memory for one pack file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "agent/src/checkpoint/staging/slot_info.h"

namespace ratoon::checkpoint {

// The facts from which choose_slot() decides.
struct SlotFacts {
  std::uint64_t image_bytes = 0;   // of the pack to stage
  std::uint64_t budget_bytes = 0;  // of all slots together
  std::uint64_t taken_bytes = 0;   // by the existing slots
  std::size_t slots = 0;
  std::size_t slots_max = 0;
  std::optional<std::uint64_t> free_slot_bytes{};  // of the next free slot; none: all are busy
};
enum class SlotDecision {
  kTake,  // the free slot, which may have to grow
  kAdd,   // one more slot
  kWait,  // until one is free
  kNone,  // no slot is possible: training waits while the tensors are written directly
};
[[nodiscard]] SlotDecision choose_slot(const SlotFacts& facts);

enum class LeftoverAction {
  kFinish,   // write it: these are the only bytes of the pack
  kCommit,   // it was written, but its process may have died before the commit
  kDiscard,  // it is incomplete, or no longer needed
};
// `newest` is the newest committed checkpoint of the run. A pack is needed only if its checkpoint is newer
// than `newest`, because the run never resumes from an older one.
[[nodiscard]] LeftoverAction choose_leftover_action(const SlotInfo& info, std::uint64_t slab_bytes,
                                                    const std::optional<CheckpointId>& newest);

// A disk that refused a pack may accept it later, so the slot keeps the pack for another try. If a newer pack
// waits for the writer, the writer gives up the old pack after two tries, because a run resumes from the
// newer checkpoint.
inline constexpr std::uint32_t kWriteTriesMax = 3;
[[nodiscard]] bool may_retry_write(std::uint32_t tries, bool has_newer_waiting);

}  // namespace ratoon::checkpoint
