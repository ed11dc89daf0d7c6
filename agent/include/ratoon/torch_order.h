// The sample orders of PyTorch's samplers, with a position that can be saved. Use DistributedSampler and
// RandomSampler for runs that began in Python or are compared with a run in Python. For a new run, use
// ratoon::Stream instead (docs/train/orders.md).
//
//   ratoon::Session session(ratoon::Options::from_environment(argc, argv));
//   ratoon::DistributedSampler sampler(
//       {.samples = 60000, .world_size = session.world_size(), .rank = session.rank(), .seed = 17});
//   session.track("sampler", sampler);
//   session.resume();  // restores the position
//   for (std::uint64_t epoch = sampler.epoch(); epoch < 90; ++epoch) {
//     sampler.set_epoch(epoch);
//     while (sampler.remaining() > 0) {
//       const auto batch = sampler.fetch(32);
//       train_on(batch);
//       sampler.advance(batch.size());  // samples that were not trained are fetched again after a resume
//       if (!session.step_done()) return session.complete();
//     }
//   }
//   return session.complete();
//
// Thread contract: only one thread may use a sampler.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ratoon/stateful.h>
#include <ratoon/torch_random.h>

namespace ratoon {

// The position of a run: the epoch, and the number of trained entries in the epoch's list of samples. A
// ListPosition is the same for all ranks.
struct ListPosition {
  std::uint64_t epoch = 0;
  // The number of entries that all ranks together have trained. At the end of the epoch, `consumed` is the
  // number of all entries of the list.
  std::uint64_t consumed = 0;

  friend bool operator==(const ListPosition&, const ListPosition&) = default;
};

struct DistributedSamplerOptions {
  std::uint64_t samples = 0;  // in the data set, at most 2^53
  std::uint32_t world_size = 1;
  std::uint32_t rank = 0;
  std::uint64_t seed = 0;
  bool shuffle = true;
  bool drop_last = false;
  bool repeat_epoch_0 = false;  // every epoch uses the order of epoch 0, as in some releases of cycling_utils
  TorchRelease release = TorchRelease::kSince2_6;
  std::string list_folder = {};  // an existing folder that keeps lists as files too, for a quick start
};

// Gives the order of torch.utils.data.DistributedSampler: rank r of W ranks takes entries r, r + W, r + 2 W,
// ... of the epoch's list. If the length of the list is not a multiple of W, the sampler appends entries from
// the front of the list. With drop_last, the sampler omits the last entries of the list instead.
class DistributedSampler : public Stateful {
 public:
  // Throws std::invalid_argument if the options describe no sampler.
  explicit DistributedSampler(DistributedSamplerOptions options);

  [[nodiscard]] const DistributedSamplerOptions& options() const { return options_; }
  [[nodiscard]] std::uint64_t epoch() const { return epoch_; }
  // Moves the sampler to the first entry of `epoch`. If `epoch` is the current epoch, the position does not
  // change.
  void set_epoch(std::uint64_t epoch);

  // size() returns the number of this rank's samples in this epoch, like len(sampler) in Python. at() returns
  // one of these samples. If the number of ranks changed within the epoch, size() does not count up to
  // world_size - 1 trained entries at the front of the list.
  [[nodiscard]] std::uint64_t size() const;
  [[nodiscard]] std::uint64_t at(std::uint64_t place) const;

  // progress() returns how many of this rank's samples in this epoch are trained; remaining() returns how
  // many are untrained.
  [[nodiscard]] std::uint64_t progress() const { return progress_; }
  [[nodiscard]] std::uint64_t remaining() const { return size() - progress_; }

  // Returns the next `count` samples of this rank; fewer at the end of the epoch.
  [[nodiscard]] std::vector<std::uint64_t> fetch(std::uint64_t count);
  // Marks the next `samples` samples of this rank as trained. Throws std::invalid_argument if fewer than
  // `samples` samples of the epoch are untrained.
  void advance(std::uint64_t samples);
  // Makes fetch() return again the samples that were fetched but not marked as trained.
  void rewind() { fetched_rounds_ = progress_; }

  // position() returns the position of all ranks. seek() moves the sampler to a position, for example of a
  // run in Python (ratoon/torch_positions.h).
  [[nodiscard]] ListPosition position() const;
  void seek(ListPosition position);

  // The state has the position of all ranks, so every rank can load it, also if the number of ranks has
  // changed. With another number of ranks, the remaining samples of the epoch are distributed over the new
  // ranks. load_state() throws Failure if the state has other data, another seed or another order.
  [[nodiscard]] std::string save_state() const override;
  void load_state(std::string_view state) override;
  [[nodiscard]] bool is_position() const override { return true; }

 private:
  [[nodiscard]] const IndexList& list() const;

  DistributedSamplerOptions options_;
  std::uint64_t epoch_ = 0;
  std::uint64_t skipped_entries_ =
      0;                        // entries of the list that no round of this world contains: less than a round
  std::uint64_t progress_ = 0;  // rounds that are trained
  std::uint64_t fetched_rounds_ = 0;
  // The epoch's list of samples, and the seed for which it was made.
  mutable std::optional<std::pair<std::uint64_t, IndexList>> index_list_;
};

// The Python package of the RandomSampler. torch and torchdata draw random numbers at different moments.
enum class SamplerFlavour { kTorch, kTorchdata };

// The kind of Python data loader that iterated over the sampler. The kind of loader matters, because at the
// beginning of an epoch a loader draws a number for its workers from the sampler's generator.
enum class Loader {
  kNone,               // the program itself
  kInProcess,          // DataLoader or StatefulDataLoader with num_workers = 0
  kWorkers,            // with num_workers above 0
  kPersistentWorkers,  // also with persistent_workers = True: only the first epoch begins with a draw
};

struct RandomSamplerOptions {
  std::uint64_t samples = 0;
  bool replacement = false;
  std::uint64_t num_samples = 0;  // per epoch; 0: as many as the data set has
  SamplerFlavour flavour = SamplerFlavour::kTorch;
  // Whether the Python program passed no generator= to RandomSampler. In a program without generator=, each
  // epoch draws a seed from `generator`, the default generator of torch.manual_seed().
  bool seeds_each_epoch = false;
  Loader loader = Loader::kNone;
  TorchRelease release = TorchRelease::kSince2_6;
};

// Gives the order of RandomSampler of torch.utils.data or torchdata.stateful_dataloader. The same generator
// draws the orders of all epochs.
class RandomSampler : public Stateful {
 public:
  // Throws std::invalid_argument if the options describe no sampler.
  RandomSampler(RandomSamplerOptions options, const TorchGenerator& generator);

  [[nodiscard]] const RandomSamplerOptions& options() const { return options_; }
  [[nodiscard]] std::uint64_t epoch() const { return epoch_; }
  // Moves the sampler to the beginning of the next epoch. Even if only a part of this epoch was fetched, the
  // generator gets the state that it has at the end of the whole epoch.
  void begin_next_epoch();

  [[nodiscard]] std::uint64_t size() const { return options_.num_samples; }
  [[nodiscard]] std::uint64_t progress() const { return progress_; }
  [[nodiscard]] std::uint64_t remaining() const { return size() - progress_; }

  // fetch(), advance() and rewind() work as in DistributedSampler.
  [[nodiscard]] std::vector<std::uint64_t> fetch(std::uint64_t count);
  void advance(std::uint64_t samples);
  void rewind();

  // generator() returns the generator's state at the start of the epoch. A loader of torchdata with workers
  // has already drawn random numbers before this state: a permutation (or, with replacement, 32 sample
  // numbers) that it does not use, and a number for its workers. seek() moves to place `progress` of an epoch
  // that starts with `generator`.
  [[nodiscard]] const TorchGenerator& generator() const { return generator_; }
  void seek(const TorchGenerator& generator, std::uint64_t progress);

  [[nodiscard]] std::string save_state() const override;
  void load_state(std::string_view state) override;
  [[nodiscard]] bool is_position() const override { return true; }

 private:
  // The state of fetch() within an epoch: the generator's state after the last draw, and the newest
  // permutation.
  struct Reader {
    TorchGenerator generator;
    IndexList permutation;
    std::uint64_t fetched = 0;
  };

  void enter_epoch();
  [[nodiscard]] bool has_loader_draw() const;
  [[nodiscard]] bool is_after_loader_draw(std::uint64_t place) const;
  [[nodiscard]] TorchGenerator generator_of_samples(TorchGenerator& outer) const;
  [[nodiscard]] Reader reader_at(std::uint64_t progress) const;
  [[nodiscard]] TorchGenerator generator_of_next_epoch() const;
  [[nodiscard]] std::uint64_t draw_one(Reader& reader) const;

  RandomSamplerOptions options_;
  TorchGenerator generator_;
  std::uint64_t epoch_ = 0;
  std::uint64_t progress_ = 0;
  std::optional<Reader> reader_;  // nothing: fetch() continues at progress_
};

// Divides the remaining `samples` samples of a sampler into batches, like PyTorch's BatchSampler. operator[]
// returns two places: the first place of the batch, and the first place after the batch.
class BatchRanges {
 public:
  BatchRanges(std::uint64_t samples, std::uint64_t batch_size, bool drop_last);

  [[nodiscard]] std::uint64_t size() const { return batches_; }
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> operator[](std::uint64_t batch) const;

 private:
  std::uint64_t samples_;
  std::uint64_t batch_size_;
  std::uint64_t batches_;
};

}  // namespace ratoon
