// StreamReader: the content of any slot of a stream. A StreamReader is cheap to copy, for threads that
// prefetch, and has no cursor.
//
//   const ratoon::StreamReader reader = stream.reader();  // a copy for each thread
//   const ratoon::SlotRange mine = ratoon::share_of(reader.batch(stream.batches() + 3), rank, world_size);
//   std::vector<ratoon::Slot> slots(mine.size());
//   reader.fill(mine.first, slots);
//
// Thread contract: one thread per copy. Copies share immutable data, and each caches the orders that it
// computed last. A reader keeps the stream's plan from the moment when it was created: create a new reader
// after a change of the plan or a load.
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

// The part of a batch that one rank takes. The parts of ranks differ by one slot at most; the world's size
// need not divide the batch. Throws std::invalid_argument if the rank does not exist.
[[nodiscard]] SlotRange share_of(SlotRange batch, std::uint32_t rank, std::uint32_t world_size);

// The weight of a rank's mean in the mean of the batch: its fraction of the slots. The weights of all ranks
// sum to 1.
[[nodiscard]] double share_weight(SlotRange batch, std::uint32_t rank, std::uint32_t world_size);

class StreamReader {
 public:
  // The content of a slot. Throws std::out_of_range for a slot that can no longer be computed
  // (Stream::first_known_slot).
  [[nodiscard]] Slot at(std::uint64_t number) const;
  // Writes the slots first, first + 1, ... into all of `slots`. Gives the same slots as calls of at(),
  // several times as fast.
  void fill(std::uint64_t first, std::span<Slot> slots) const;
  // Returns the slot that holds a sample in an epoch of its source: the first one if PyTorch's order has
  // several. Returns nothing if the source's weight became 0 before, or if PyTorch's order leaves the sample
  // out.
  [[nodiscard]] std::optional<std::uint64_t> slot_of(std::uint32_t source, std::uint64_t epoch,
                                                     std::uint64_t sample) const;

  // The slots that batch `number` took or, with the current plan, will take.
  [[nodiscard]] SlotRange batch(std::uint64_t number) const;
  // The batch that takes a slot; nothing if the stream skips the slot.
  [[nodiscard]] std::optional<std::uint64_t> batch_with(std::uint64_t slot) const;
  // How many batches there are, from the run's beginning, until the cursor is at or after `slot`.
  [[nodiscard]] std::uint64_t batches_until(std::uint64_t slot) const;

  // The sources, the seed and the slots per epoch of the stream's plan.
  [[nodiscard]] std::uint32_t sources() const;
  [[nodiscard]] const std::string& source_name(std::uint32_t source) const;
  [[nodiscard]] std::uint64_t source_samples(std::uint32_t source) const;
  [[nodiscard]] std::uint64_t seed() const;
  [[nodiscard]] std::uint64_t epoch_slots() const;
  // Whether both readers have the same plan: the plan was not changed or loaded between their creations.
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
  mutable std::vector<Known> orders_;  // of the epochs that were used last
  mutable std::shared_ptr<const data::MixtureBlock> block_;
};

}  // namespace ratoon
