// StreamReader: what any slot of a stream holds. A value that is cheap to copy, for threads that fetch ahead
// of the cursor; it has no cursor of its own.
//
//   const ratoon::StreamReader reader = stream.reader();  // a copy for each thread
//   const ratoon::SlotRange mine = ratoon::share_of(reader.batch(stream.batches() + 3), rank, world_size);
//   std::vector<ratoon::Slot> slots(mine.size());
//   reader.fill(mine.first, slots);
//
// Thread contract: one thread a copy. Copies share what never changes; each remembers the orders that it
// computed last. A reader knows the plan as it was when it was taken: take another one after a change of plan
// or a load.
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
  std::uint64_t last = 0;  // the first that is no longer in it

  [[nodiscard]] std::uint64_t size() const { return last - first; }
  friend bool operator==(const SlotRange&, const SlotRange&) = default;
};

// The part of a batch that one rank takes. Parts differ by one slot at most, and no batch or world needs to
// divide the other. Throws std::invalid_argument if there is no such rank.
[[nodiscard]] SlotRange share_of(SlotRange batch, std::uint32_t rank, std::uint32_t world_size);

// What a rank's mean counts in the mean of the batch: its part of the slots. The weights of all ranks sum
// to 1.
[[nodiscard]] double share_weight(SlotRange batch, std::uint32_t rank, std::uint32_t world_size);

class StreamReader {
 public:
  // What a slot holds. Throws std::out_of_range for a slot that cannot be known (Stream::first_known_slot).
  [[nodiscard]] Slot at(std::uint64_t number) const;
  // Slots first, first + 1, ..., as many as there is room for: the same as one by one, several times as fast.
  void fill(std::uint64_t first, std::span<Slot> slots) const;
  // The slot that holds a sample in an epoch of its source, the first one if PyTorch's order has several;
  // none where its weight became 0 before, or where that order leaves it out.
  [[nodiscard]] std::optional<std::uint64_t> slot_of(std::uint32_t source, std::uint64_t epoch,
                                                     std::uint64_t sample) const;

  // The slots that batch 0, 1, 2, ... took or, by the plan as it is now, will take.
  [[nodiscard]] SlotRange batch(std::uint64_t number) const;
  // The batch that takes a slot; none if it is skipped.
  [[nodiscard]] std::optional<std::uint64_t> batch_with(std::uint64_t slot) const;
  // How many batches it takes, from the first of the run on, until the cursor is at `slot` or beyond it.
  [[nodiscard]] std::uint64_t batches_until(std::uint64_t slot) const;

  // What its plan is made of.
  [[nodiscard]] std::uint32_t sources() const;
  [[nodiscard]] const std::string& source_name(std::uint32_t source) const;
  [[nodiscard]] std::uint64_t source_samples(std::uint32_t source) const;
  [[nodiscard]] std::uint64_t seed() const;
  [[nodiscard]] std::uint64_t epoch_slots() const;
  // Whether both were taken with no change of plan and no load between.
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
  mutable std::vector<Known> orders_;  // of the epochs that were asked for last
  mutable std::shared_ptr<const data::MixtureBlock> block_;
};

}  // namespace ratoon
