// The begin and end of batches, as arithmetic on slots. A batch begins at a `settled` slot. With
// EpochEnd::kDrop, the slots at the end of an epoch that fill no batch are not settled.
#pragma once

#include <cstdint>

#include <ratoon/stream_options.h>
#include <ratoon/stream_reader.h>

namespace ratoon::data {

struct BatchRule {
  EpochEnd epoch_end = EpochEnd::kCarry;
  std::uint64_t epoch_slots = 1;
  std::uint64_t global_batch = 1;

  // The first slot, at or after this slot, at which a batch may begin.
  [[nodiscard]] std::uint64_t settle(std::uint64_t slot) const;
  // The batch that begins at a settled slot.
  [[nodiscard]] SlotRange batch_at(std::uint64_t slot) const;
  // The slot where a batch begins that comes `batches` batches after the batch at a settled slot. Throws
  // std::out_of_range above kSlotsMax.
  [[nodiscard]] std::uint64_t begin_after(std::uint64_t slot, std::uint64_t batches) const;
  // The smallest number of batches, from a settled slot, after which the cursor is at or after `goal`.
  [[nodiscard]] std::uint64_t batches_to(std::uint64_t slot, std::uint64_t goal) const;
  // The number of batches of an epoch that begins with a batch.
  [[nodiscard]] std::uint64_t batches_per_epoch() const { return batches_in(epoch_slots); }

 private:
  [[nodiscard]] std::uint64_t batches_in(std::uint64_t slots) const;
  [[nodiscard]] std::uint64_t left_in_epoch(std::uint64_t slot) const {
    return epoch_slots - slot % epoch_slots;
  }
};

}  // namespace ratoon::data
