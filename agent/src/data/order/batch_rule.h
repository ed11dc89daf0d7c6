// Computes the slots (positions in the stream) at which batches begin and end. A slot is settled if a batch
// can begin at it. With EpochEnd::kDrop, no batch begins at the last slots of an epoch if these slots do not
// fill a batch.
#pragma once

#include <cstdint>

#include <ratoon/stream_options.h>
#include <ratoon/stream_reader.h>

namespace ratoon::data {

struct BatchRule {
  EpochEnd epoch_end = EpochEnd::kCarry;
  std::uint64_t epoch_slots = 1;
  std::uint64_t global_batch = 1;

  // Returns the first slot at or after `slot` at which a batch may begin.
  [[nodiscard]] std::uint64_t next_batch_start(std::uint64_t slot) const;
  // Returns the slots of the batch that begins at `slot`, which is a result of next_batch_start().
  [[nodiscard]] SlotRange batch_at(std::uint64_t slot) const;
  // Returns the first slot of the batch that comes `batches` batches after the batch at `slot`, a settled
  // slot. Throws std::out_of_range if the resulting slot is above kSlotsMax.
  [[nodiscard]] std::uint64_t start_after_batches(std::uint64_t slot, std::uint64_t batches) const;
  // Returns the number of batches from the settled slot `slot` to the first batch that begins at `goal` or
  // later. That last batch is not counted.
  [[nodiscard]] std::uint64_t batches_up_to(std::uint64_t slot, std::uint64_t goal) const;
  // Returns the number of batches in an epoch, if a batch begins at the first slot of the epoch.
  [[nodiscard]] std::uint64_t batches_per_epoch() const { return batches_in(epoch_slots); }

 private:
  [[nodiscard]] std::uint64_t batches_in(std::uint64_t slots) const;
  [[nodiscard]] std::uint64_t slots_left_in_epoch(std::uint64_t slot) const {
    return epoch_slots - slot % epoch_slots;
  }
};

}  // namespace ratoon::data
