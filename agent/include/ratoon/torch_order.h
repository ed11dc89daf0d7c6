// PyTorch's samplers in PyTorch's own order, with a position that can be saved: for runs that began in Python
// or are compared with a run in Python. For a run that begins with Ratoon, prefer Stream
// (docs/train/orders.md).
//
//   ratoon::DistributedSampler sampler({.samples = 60000, .world_size = 8, .rank = rank, .seed = 17});
//   session.track("sampler", sampler);
//   for (std::uint64_t epoch = sampler.epoch(); epoch < 90; ++epoch) {
//     sampler.set_epoch(epoch);
//     while (sampler.remaining() > 0) {
//       const auto batch = sampler.fetch(32);
//       train_on(batch);
//       sampler.advance(batch.size());  // samples that were not trained are fetched again after a resume
//     }
//   }
//
// Thread contract: one thread per sampler.
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

// The position of a run in the list of an epoch. All ranks of the run share the position.
struct ListPosition {
  std::uint64_t epoch = 0;
  // The entries of the list that all ranks together have trained; at the list's size the epoch is done.
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

// torch.utils.data.DistributedSampler: rank r takes the entries r, r + W, r + 2 W, ... of the epoch's list.
// If the number of entries is not a multiple of the ranks, the list is padded with entries from its own
// front, or truncated with drop_last.
class DistributedSampler : public Stateful {
 public:
  // Throws std::invalid_argument if the options describe no sampler.
  explicit DistributedSampler(DistributedSamplerOptions options);

  [[nodiscard]] const DistributedSamplerOptions& options() const { return options_; }
  [[nodiscard]] std::uint64_t epoch() const { return epoch_; }
  // Goes to the first entry of `epoch`. If `epoch` is the current epoch, the position does not change.
  void set_epoch(std::uint64_t epoch);

  // size() is Python's len(sampler), and at() returns the sample at a place. size() and at() count only the
  // samples of this rank in this epoch and this world. If the epoch began in another world, the last entries
  // are left out if they are too few for one entry per rank of this world.
  [[nodiscard]] std::uint64_t size() const;
  [[nodiscard]] std::uint64_t at(std::uint64_t place) const;

  // How many of this rank's samples of this epoch are trained, and how many are not.
  [[nodiscard]] std::uint64_t progress() const { return progress_; }
  [[nodiscard]] std::uint64_t remaining() const { return size() - progress_; }

  // Returns the next samples, at most `count`; fewer at the end of the epoch.
  [[nodiscard]] std::vector<std::uint64_t> fetch(std::uint64_t count);
  // Marks the next `samples` samples as trained; throws std::invalid_argument if fewer are left.
  void advance(std::uint64_t samples);
  // Makes fetch() return the samples again that were fetched and not trained.
  void rewind() { fetched_ = progress_; }

  // position() returns the position of all ranks, and seek() moves the sampler to a position: for an import
  // (ratoon/torch_positions.h) or another world.
  [[nodiscard]] ListPosition position() const;
  void seek(ListPosition position);

  // The state is that of the whole world: any rank of any world can load it. In another world the rest of the
  // epoch is distributed over the ranks of that world. load_state throws Failure if the state is of other
  // data, another seed or another order.
  [[nodiscard]] std::string save_state() const override;
  void load_state(std::string_view state) override;
  [[nodiscard]] bool is_position() const override { return true; }

 private:
  [[nodiscard]] const IndexList& list() const;

  DistributedSamplerOptions options_;
  std::uint64_t epoch_ = 0;
  std::uint64_t start_ = 0;     // entries of the list that no round of this world contains: less than a round
  std::uint64_t progress_ = 0;  // rounds that are trained
  std::uint64_t fetched_ = 0;
  // The epoch's list of samples, and the seed for which it was made.
  mutable std::optional<std::pair<std::uint64_t, IndexList>> list_;
};

// The package that a RandomSampler comes from. torch and torchdata draw random numbers at different
// moments.
enum class SamplerFlavour { kTorch, kTorchdata };

// The loader that iterates the sampler. A loader draws a number for its workers from the sampler's generator
// when an epoch begins.
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
  // For RandomSampler(data) without generator=: each epoch draws a seed from `generator`, which stands for
  // the default generator of torch.manual_seed().
  bool seeds_each_epoch = false;
  Loader loader = Loader::kNone;
  TorchRelease release = TorchRelease::kSince2_6;
};

// RandomSampler of torch.utils.data or torchdata.stateful_dataloader. One generator serves all epochs.
class RandomSampler : public Stateful {
 public:
  // Throws std::invalid_argument if the options describe no sampler.
  RandomSampler(RandomSamplerOptions options, const TorchGenerator& generator);

  [[nodiscard]] const RandomSamplerOptions& options() const { return options_; }
  [[nodiscard]] std::uint64_t epoch() const { return epoch_; }
  // Starts the next epoch. The generator continues from its state at the end of this epoch, even if only a
  // part of the epoch was fetched.
  void begin_next_epoch();

  [[nodiscard]] std::uint64_t size() const { return options_.num_samples; }
  [[nodiscard]] std::uint64_t progress() const { return progress_; }
  [[nodiscard]] std::uint64_t remaining() const { return size() - progress_; }

  // The functions for positions work as in DistributedSampler.
  [[nodiscard]] std::vector<std::uint64_t> fetch(std::uint64_t count);
  void advance(std::uint64_t samples);
  void rewind();

  // generator() is the generator at the start of the current epoch; seek() moves to a place in an epoch that
  // starts with a given generator. (torchdata's loader with workers draws one unused number before.)
  [[nodiscard]] const TorchGenerator& generator() const { return generator_; }
  void seek(const TorchGenerator& generator, std::uint64_t progress);

  [[nodiscard]] std::string save_state() const override;
  void load_state(std::string_view state) override;
  [[nodiscard]] bool is_position() const override { return true; }

 private:
  // The state of fetch(): the generator inside the epoch, and the newest permutation.
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

// BatchSampler: the places [first, second) of each batch, for a sampler with `samples` samples left.
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
