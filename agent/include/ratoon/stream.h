// Stream: which samples each step of a run takes. One endless sequence of slots, the same for every number of
// ranks: slot p is place p mod N of epoch p div N, and each epoch is its own Permutation of the N samples. A
// batch may reach over the end of an epoch; nothing is repeated, padded or dropped.
//
//   ratoon::Stream stream({.samples = 60000, .global_batch = 256, .seed = 17, .source = "digits"});
//   session.track("stream", stream);
//   for (std::uint64_t step : session.steps(1000))
//     for (const ratoon::Slot& slot : stream.take(session.rank(), session.world_size()))
//       learn_from(images[slot.sample]);
//
// Thread contract: one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ratoon/permutation.h>
#include <ratoon/stateful.h>

namespace ratoon {

struct StreamOptions {
  std::uint64_t samples = 0;       // in the data set
  std::uint64_t global_batch = 0;  // of all ranks together, per take()
  std::uint64_t seed = 0;
  std::string source;  // a name or digest of the data: another one is another order, and another run's state
};

struct Slot {
  std::uint64_t number = 0;  // in the endless sequence
  std::uint64_t epoch = 0;
  std::uint64_t sample = 0;

  friend bool operator==(const Slot&, const Slot&) = default;
};

class Stream : public Stateful {
 public:
  // Throws std::invalid_argument if there are no samples, or no batch.
  explicit Stream(StreamOptions options);

  // This rank's share of the next global batch; the cursor moves on by the whole of it. Shares differ by one
  // slot at most, so a mean over ranks weighs samples equally only where the world divides the batch.
  [[nodiscard]] std::vector<Slot> take(std::uint32_t rank, std::uint32_t world_size);

  // The first slot that nobody has taken yet.
  [[nodiscard]] std::uint64_t cursor() const { return cursor_; }
  // Over the samples of all slots before the cursor, in order. Equal digests mean the same samples.
  [[nodiscard]] std::uint64_t digest() const { return digest_; }
  [[nodiscard]] const StreamOptions& options() const { return options_; }

  // Any slot, and the slot that holds a sample in an epoch: "at which step was it seen".
  [[nodiscard]] Slot at(std::uint64_t number) const;
  [[nodiscard]] std::uint64_t slot_of(std::uint64_t epoch, std::uint64_t sample) const;

  // The share of one rank when a batch begins at `start`: [first, second).
  [[nodiscard]] static std::pair<std::uint64_t, std::uint64_t> share(std::uint64_t start,
                                                                     std::uint64_t global_batch,
                                                                     std::uint32_t rank,
                                                                     std::uint32_t world_size);

  // JSON, always the same text for the same state.
  [[nodiscard]] std::string save_state() const override;
  // Throws Failure where the state is of another data set, seed or batch; it says both values.
  void load_state(std::string_view state) override;

 private:
  [[nodiscard]] const Permutation& order_of(std::uint64_t epoch) const;

  StreamOptions options_;
  std::uint64_t cursor_ = 0;
  std::uint64_t digest_ = 0;
  mutable std::optional<std::pair<std::uint64_t, Permutation>>
      order_;  // of the epoch that was asked for last
};

}  // namespace ratoon
