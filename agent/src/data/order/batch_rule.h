// Where batches begin and end, as arithmetic on slots. A batch begins at a slot that is `settled`: with
// EpochEnd::kDrop, none of the slots at the end of an epoch that fill no batch.
#pragma once

#include <cstdint>

#include <ratoon/stream_options.h>
#include <ratoon/stream_reader.h>

namespace ratoon::data {

struct BatchRule {
  EpochEnd epoch_end = EpochEnd::kCarry;
  std::uint64_t epoch_slots = 1;
  std::uint64_t global_batch = 1;

  // The first slot, from this one on, with which a batch may begin.
  [[nodiscard]] std::uint64_t settle(std::uint64_t slot) const;
  // The batch that begins at a settled slot.
  [[nodiscard]] SlotRange batch_at(std::uint64_t slot) const;
  // Where the batch begins that comes so many batches after the one at a settled slot. Throws
  // std::out_of_range above kSlotsMax.
  [[nodiscard]] std::uint64_t begin_after(std::uint64_t slot, std::uint64_t batches) const;
  // The least number of batches, from a settled slot on, after which the cursor is at `goal` or beyond it.
  [[nodiscard]] std::uint64_t batches_to(std::uint64_t slot, std::uint64_t goal) const;
  // Of an epoch that begins with a batch.
  [[nodiscard]] std::uint64_t batches_per_epoch() const { return batches_in(epoch_slots); }

 private:
  [[nodiscard]] std::uint64_t batches_in(std::uint64_t slots) const;
  [[nodiscard]] std::uint64_t left_in_epoch(std::uint64_t slot) const {
    return epoch_slots - slot % epoch_slots;
  }
};

}  // namespace ratoon::data
