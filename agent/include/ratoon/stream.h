// Stream: which samples each step of a run takes. One endless sequence of slots, the same for every number of
// ranks: with one source, slot p is place p mod N of epoch p div N, and each epoch is an order of its own of
// the N samples. A batch may reach over the end of an epoch; nothing is repeated, padded or dropped.
//
//   ratoon::Stream stream({.samples = 60000, .global_batch = 256, .seed = 17, .source = "digits"});
//   session.track("stream", stream);
//   for (std::uint64_t step : session.steps(1000))
//     for (const ratoon::Slot& slot : stream.take(session.rank(), session.world_size()))
//       learn_from(images[slot.sample]);
//
// Any number may be changed on the way: the global batch, the weights of a mixture, or the cursor, to skip
// what did harm. Changes are kept in the state, so that what any past step took can still be computed.
//
// Thread contract: one thread; reader() serves others.
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

// How much of a source was drawn, in whole numbers.
struct SourceAccount {
  std::uint64_t drawn = 0;    // samples that batches took
  std::uint64_t skipped = 0;  // that were passed over
  std::uint64_t epochs = 0;   // drawn / samples, whole ones
  std::uint64_t rest = 0;     // and samples of the next

  friend bool operator==(const SourceAccount&, const SourceAccount&) = default;
};

// A difference between a state and the options that was accepted.
struct AcceptedDifference {
  std::uint64_t slot = 0;  // where the cursor was
  std::string what{};
  std::string was{};
  std::string is{};

  friend bool operator==(const AcceptedDifference&, const AcceptedDifference&) = default;
};

class Stream : public Stateful {
 public:
  // Throws std::invalid_argument if the options make no stream; it says why.
  explicit Stream(StreamOptions options);

  // This rank's share of the next batch, and advance(). Shares differ by one slot at most, so a mean over
  // ranks weighs samples equally only where the world divides the batch; share_weight() tells what each
  // counts.
  [[nodiscard]] std::vector<Slot> take(std::uint32_t rank, std::uint32_t world_size);

  // The same in two: what the next batch is, and that so many batches were trained. What was fetched and not
  // trained is never counted: only these two and take() move the cursor.
  [[nodiscard]] SlotRange next_batch() const;
  void advance(std::uint64_t batches = 1);
  // Throws std::invalid_argument where no batch begins, or behind the cursor.
  void advance_to(std::uint64_t slot);

  // The first slot that is not trained; after the last batch of an epoch, the first of the next one.
  [[nodiscard]] std::uint64_t cursor() const { return cursor_; }
  [[nodiscard]] std::uint64_t batches() const { return batches_; }  // so far
  // Over the samples of all slots that batches took, in order. Equal digests mean the same samples.
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
      const;  // 0 unless another source, seed or order was accepted

  // Changes of the plan, from the cursor on. A state keeps up to 1,024 of them; the next one throws Failure.
  void change_global_batch(std::uint64_t global_batch);
  void change_weights(std::span<const double> weights);
  void skip_to(std::uint64_t slot);  // the slots before it are never taken
  // A run that something else began: the next slot and the number of batches before it. Only for a stream
  // that took nothing yet; what came before counts as drawn, but is not in the digest.
  void begin_at(std::uint64_t slot, std::uint64_t batches);

  [[nodiscard]] std::uint64_t global_batch() const;           // now
  [[nodiscard]] std::vector<std::uint32_t> weights() const;   // now; in 65,536ths, exactly
  [[nodiscard]] std::vector<SourceAccount> accounts() const;  // a source each

  // The epoch of the stream: as many slots as all sources have samples.
  [[nodiscard]] std::uint64_t epoch_slots() const;
  [[nodiscard]] std::uint64_t epoch() const { return cursor_ / epoch_slots(); }
  [[nodiscard]] std::uint64_t index_in_epoch() const { return cursor_ % epoch_slots(); }
  // Of an epoch that begins with a batch; where batches carry over, the last one reaches into the next epoch.
  [[nodiscard]] std::uint64_t batches_per_epoch() const;
  // How many batches there are from the first of the run until so many epochs are over.
  [[nodiscard]] std::uint64_t batches_until_epoch(std::uint64_t epoch) const;

  // JSON, always the same text for the same state.
  [[nodiscard]] std::string save_state() const override;
  // Takes effect whatever was taken before. Throws Failure where the state is of other sources, another seed,
  // order, batch or weights than the options say; the sentence has both values. Nothing is taken over then.
  // A load that nothing comes of, while another stream over the same sources is trained with, is said on
  // stderr when this stream ends.
  void load_state(std::string_view state) override;
  [[nodiscard]] bool is_position() const override { return true; }
  // Loads that follow may differ in this from the options. What was used is kept in the state.
  void accept(const StreamOverride& differences) { accepted_ = differences; }
  [[nodiscard]] const std::vector<AcceptedDifference>& accepted() const { return differences_; }

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
  StreamOverride accepted_;
  std::vector<AcceptedDifference> differences_;
  mutable std::shared_ptr<data::LoadedState> loaded_;  // shared by copies, until one of them is used
};

}  // namespace ratoon
