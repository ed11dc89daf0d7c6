// Stream: which samples each step of a run takes. The stream is one endless sequence of slots, which hold one
// sample each. The order of the samples is the same for every number of ranks. With one source of N samples,
// slot p is at position p mod N of epoch p div N, and each epoch has its own order of the samples. With the
// default EpochEnd::kCarry, a batch may have samples of two epochs, and no sample is repeated or dropped at
// the end of an epoch to fill a batch.
//
//   ratoon::Stream stream({.samples = 60000, .global_batch = 256, .seed = 17, .source = "digits"});
//   session.track("stream", stream);
//   for (std::uint64_t step : session.steps(1000))
//     for (const ratoon::Slot& slot : stream.take(session.rank(), session.world_size()))
//       learn_from(images[slot.sample]);
//
// The global batch, the weights of a mixture and the cursor can change during a run, for example to skip
// harmful samples. The saved state of a stream lists all its changes, so the samples of any past step can
// still be computed.
//
// Thread contract: only one thread uses a Stream; other threads use a copy of reader().
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ratoon/stateful.h>
#include <ratoon/stream_options.h>
#include <ratoon/stream_reader.h>

namespace ratoon {

namespace data {
class LoadedState;
}  // namespace data

// How many samples of one source the batches took, and how many samples of the same source the run skipped.
struct SourceAccount {
  std::uint64_t drawn = 0;    // samples that batches took
  std::uint64_t skipped = 0;  // samples that were skipped
  std::uint64_t epochs = 0;   // drawn / samples, whole ones
  std::uint64_t rest = 0;     // samples of the next epoch

  friend bool operator==(const SourceAccount&, const SourceAccount&) = default;
};

// One difference between a loaded state and the stream's options. The program allowed this difference with
// Stream::accept().
struct AcceptedDifference {
  std::uint64_t slot = 0;  // where the cursor was
  std::string what{};
  std::string was{};
  std::string is{};

  friend bool operator==(const AcceptedDifference&, const AcceptedDifference&) = default;
};

class Stream : public Stateful {
 public:
  // Throws std::invalid_argument, whose message names the wrong option, if the options are not valid.
  explicit Stream(StreamOptions options);

  // Returns this rank's share of the next batch, and calls advance(). The shares of ranks differ by one slot
  // at most. If shares differ, weigh each rank's mean with share_weight(), so that all samples count equally.
  [[nodiscard]] std::vector<Slot> take(std::uint32_t rank, std::uint32_t world_size);

  // Use two calls instead of take() to train before the cursor moves: next_batch() returns the next batch,
  // and advance() records that `batches` batches were trained. Only advance(), advance_to() and take() move
  // the cursor; reading a batch does not move the cursor.
  [[nodiscard]] SlotRange next_batch() const;
  void advance(std::uint64_t batches = 1);
  // Moves the cursor to `slot`. Throws std::invalid_argument if no batch begins at `slot`, or if `slot` is
  // before the cursor.
  void advance_to(std::uint64_t slot);

  // The first slot of the stream whose sample is not trained yet. After the last batch of an epoch the cursor
  // is the first slot of the next epoch.
  [[nodiscard]] std::uint64_t cursor() const { return cursor_; }
  [[nodiscard]] std::uint64_t batches() const { return batches_; }  // so far
  // A digest of the samples of all past batches, in order. Two runs with equal digests trained the same
  // samples in the same order.
  [[nodiscard]] std::uint64_t digest() const { return digest_; }

  [[nodiscard]] StreamReader reader() const {
    note_use();
    return reader_;
  }
  [[nodiscard]] Slot at(std::uint64_t number) const { return reader().at(number); }
  [[nodiscard]] std::optional<std::uint64_t> slot_of(std::uint64_t epoch, std::uint64_t sample) const {
    return reader_.slot_of(0, epoch, sample);
  }
  [[nodiscard]] std::uint64_t first_known_slot()
      const;  // above 0 only after another source, seed or order was accepted

  // The functions below change the samples of future batches, from the cursor on. A stream's state can list
  // 1,024 changes of batch size, weights and position; a further change throws Failure.
  void change_global_batch(std::uint64_t global_batch);
  void change_weights(std::span<const double> weights);
  void skip_to(std::uint64_t slot);  // the slots before it are never taken
  // Sets the position (the next slot and the number of batches before it), to continue a run that another
  // program began. Call begin_at() only for a stream from which no batch was taken. The samples before `slot`
  // count as drawn, but the stream's digest does not cover them.
  void begin_at(std::uint64_t slot, std::uint64_t batches);

  [[nodiscard]] std::uint64_t global_batch() const;           // current value
  [[nodiscard]] std::vector<std::uint32_t> weights() const;   // current values, in 65,536ths, exactly
  [[nodiscard]] std::vector<SourceAccount> accounts() const;  // one for each source

  // The number of slots (samples) of one epoch of the stream: the sum of the samples of all sources.
  [[nodiscard]] std::uint64_t epoch_slots() const;
  [[nodiscard]] std::uint64_t epoch() const { return cursor_ / epoch_slots(); }
  [[nodiscard]] std::uint64_t index_in_epoch() const { return cursor_ % epoch_slots(); }
  // The number of batches of an epoch, if a batch begins with the epoch's first sample. With
  // EpochEnd::kCarry, the last batch may have samples of the next epoch.
  [[nodiscard]] std::uint64_t batches_per_epoch() const;
  // Returns the number of batches in the first `epoch` epochs of the run.
  [[nodiscard]] std::uint64_t batches_until_epoch(std::uint64_t epoch) const;

  // Returns JSON; the same state always gives the same text.
  [[nodiscard]] std::string save_state() const override;
  // Replaces the stream's position with the saved position. Throws Failure if the sources, seed, order, batch
  // size or weights in the state differ from the options: the message then states both values, and the stream
  // does not change. If a loaded stream is never used while the program trains with another stream over the
  // same sources, the destructor of the loaded stream prints a warning on stderr.
  void load_state(std::string_view state) override;
  [[nodiscard]] bool is_position() const override { return true; }
  // Allows later calls of load_state() to load states that differ from the options in the fields that are
  // true in `differences`. The saved state of the stream lists each accepted difference.
  void accept(const StreamOverride& differences) { allowed_differences_ = differences; }
  [[nodiscard]] const std::vector<AcceptedDifference>& accepted() const { return accepted_differences_; }

 private:
  void consume(SlotRange batch, SlotRange mine, std::vector<Slot>* slots);
  void use(data::Plan plan);
  void note_use() const {
    if (loaded_) forget_load();
  }
  void note_load();
  void forget_load() const;
  void note_batch() const;

  StreamReader reader_;
  std::uint64_t cursor_ = 0;
  std::uint64_t batches_ = 0;
  std::uint64_t digest_ = 0;
  StreamOverride allowed_differences_;
  std::vector<AcceptedDifference> accepted_differences_;
  mutable std::shared_ptr<data::LoadedState> loaded_;  // shared by copies until one of them is used
};

}  // namespace ratoon
