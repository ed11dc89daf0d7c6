// SlotTable: the state of each slot (memory for one pack file), and the choice of the next slot to fill or to
// write. SlotTable and slot_rules.h make all decisions about slots, and use no thread, no clock and no memory
// of a slot.
//
// A call that the state of a slot does not allow throws std::logic_error. Without this check, two threads
// could use one slot and mix two checkpoints.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "agent/src/checkpoint/staging/slot_info.h"

namespace ratoon::checkpoint {

class SlotTable {
 public:
  SlotTable() = default;
  explicit SlotTable(std::size_t count) : slots_(count) {}

  // Adds a slot that an earlier process left; the slot may be in any state. An added slot whose copy is not
  // complete becomes free.
  void adopt(const SlotInfo& info);

  // Returns the free slot that was used last, because its memory may still be cached. Returns nothing if no
  // slot is free.
  [[nodiscard]] std::optional<std::size_t> next_free() const;
  void begin_filling(std::size_t slot);
  void stage(std::size_t slot, const StagedPack& pack);

  // Gives the slot whose copy was completed first to the writer, and returns its number.
  [[nodiscard]] std::optional<std::size_t> begin_writing();
  void requeue_write(std::size_t slot);  // to be written once more
  void release(std::size_t slot);        // filling or writing -> free
  void discard(std::size_t slot);        // staged -> free

  [[nodiscard]] const SlotInfo& operator[](std::size_t slot) const { return slots_.at(slot); }
  [[nodiscard]] std::size_t size() const { return slots_.size(); }
  [[nodiscard]] std::size_t count(SlotState state) const;

 private:
  SlotInfo& in(std::size_t slot, SlotState state);

  std::vector<SlotInfo> slots_;
  std::uint64_t newest_generation_ = 0;
};

}  // namespace ratoon::checkpoint
