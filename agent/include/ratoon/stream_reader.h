// StreamReader: computes which sample any slot of a stream holds. A StreamReader has no cursor and is cheap
// to copy, so each prefetching thread can have one.
//
//   const ratoon::StreamReader reader = stream.reader();  // a copy for each thread
//   const ratoon::SlotRange mine = ratoon::share_of(reader.batch(stream.batches() + 3), rank, world_size);
//   std::vector<ratoon::Slot> slots(mine.size());
//   reader.fill(mine.first, slots);
//
// Thread contract: give each thread its own copy. Copies share immutable data, but each copy has its own
// cache of the sample orders that it used last. A reader does not see later changes of its stream: create a
// new reader after each change or load of the stream.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ratoon {

namespace data {
class EpochOrder;
class MixtureBlock;
struct Plan;
}  // namespace data

struct Slot {
  std::uint64_t number = 0;  // in the endless sequence
  std::uint64_t epoch = 0;   // of its source
  std::uint32_t source = 0;
  std::uint64_t sample = 0;  // of its source

  friend bool operator==(const Slot&, const Slot&) = default;
};

struct SlotRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;  // one past the last slot

  [[nodiscard]] std::uint64_t size() const { return last - first; }
  friend bool operator==(const SlotRange&, const SlotRange&) = default;
};

// Returns the slots of a batch that one rank trains. The shares of ranks differ by one slot at most, so any
// `world_size` is possible. Throws std::invalid_argument if `rank` is not below `world_size`.
[[nodiscard]] SlotRange share_of(SlotRange batch, std::uint32_t rank, std::uint32_t world_size);

// Returns the weight with which a mean of the rank, such as its mean loss, counts in the mean over the whole
// batch: the rank's fraction of the batch's samples. For each batch, the weights of all ranks sum to 1.
[[nodiscard]] double share_weight(SlotRange batch, std::uint32_t rank, std::uint32_t world_size);

class StreamReader {
 public:
  // Returns the epoch, source and sample of slot `number`. Throws std::out_of_range for a slot that can no
  // longer be computed (Stream::first_known_slot).
  [[nodiscard]] Slot at(std::uint64_t number) const;
  // Fills `slots` with the stream's slots from number `first` on. fill() is several times as fast as calls of
  // at().
  void fill(std::uint64_t first, std::span<Slot> slots) const;
  // Returns the slot that holds a sample in an epoch of its source; the first such slot if PyTorch's order
  // repeats the sample. Returns nothing if the source's weight became 0 before this slot, or if PyTorch's
  // order leaves the sample out.
  [[nodiscard]] std::optional<std::uint64_t> slot_of(std::uint32_t source, std::uint64_t epoch,
                                                     std::uint64_t sample) const;

  // Returns the slots of batch `number` of the run. For a future batch, batch() assumes the current batch
  // size.
  [[nodiscard]] SlotRange batch(std::uint64_t number) const;
  // Returns the number of the batch that contains a slot; nothing if the stream skips the slot.
  [[nodiscard]] std::optional<std::uint64_t> batch_with(std::uint64_t slot) const;
  // Returns the number of batches, from the run's beginning, until the cursor reaches or passes `slot`.
  [[nodiscard]] std::uint64_t batches_until(std::uint64_t slot) const;

  // The functions below return the number of sources, the name and the number of samples of a source, the
  // seed, and the slots per epoch of the stream.
  [[nodiscard]] std::uint32_t sources() const;
  [[nodiscard]] const std::string& source_name(std::uint32_t source) const;
  [[nodiscard]] std::uint64_t source_samples(std::uint32_t source) const;
  [[nodiscard]] std::uint64_t seed() const;
  [[nodiscard]] std::uint64_t epoch_slots() const;
  // Whether both readers give the same samples and batches. They do if the same stream created both readers,
  // and was not changed or loaded between the two calls of Stream::reader().
  [[nodiscard]] bool is_same_plan(const StreamReader& other) const { return plan_ == other.plan_; }

 private:
  friend class Stream;
  struct Known {
    std::uint64_t source = 0;
    std::uint64_t epoch = 0;
    std::shared_ptr<const data::EpochOrder> order;
  };

  explicit StreamReader(std::shared_ptr<const data::Plan> plan);

  [[nodiscard]] const data::EpochOrder& order_of(std::uint64_t source, std::uint64_t epoch) const;
  [[nodiscard]] const data::MixtureBlock& block_of(std::uint64_t slot) const;
  void check_known(std::uint64_t first) const;
  void fill_source(std::uint64_t first, std::span<Slot> slots) const;
  void fill_mixture(std::uint64_t first, std::span<Slot> slots) const;

  std::shared_ptr<const data::Plan> plan_;
  mutable std::vector<Known> cached_orders_;  // of the epochs that were used last
  mutable std::shared_ptr<const data::MixtureBlock> cached_block_;
};

}  // namespace ratoon
