// PyTorch's samplers in the order in which PyTorch runs them, with a position that can be saved: for runs
// that began in Python, or are compared with one. A run that begins here is better off with Stream
// (docs/train/orders.md).
//
//   ratoon::DistributedSampler sampler({.samples = 60000, .world_size = 8, .rank = rank, .seed = 17});
//   session.track("sampler", sampler);
//   for (std::uint64_t epoch = sampler.epoch(); epoch < 90; ++epoch) {
//     sampler.set_epoch(epoch);
//     while (sampler.remaining() > 0) {
//       const auto batch = sampler.fetch(32);
//       train_on(batch);
//       sampler.advance(batch.size());  // what was fetched and not trained is fetched again after a resume
//     }
//   }
//
// Thread contract: one thread a sampler.
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

// How far a run is in the list of an epoch that its ranks share.
struct ListPosition {
  std::uint64_t epoch = 0;
  std::uint64_t consumed = 0;  // entries of the list that all ranks together have trained; all of them: done

  friend bool operator==(const ListPosition&, const ListPosition&) = default;
};

struct DistributedSamplerOptions {
  std::uint64_t samples = 0;  // in the data set, at most 2^53
  std::uint32_t world_size = 1;
  std::uint32_t rank = 0;
  std::uint64_t seed = 0;
  bool shuffle = true;
  bool drop_last = false;
  bool repeat_epoch_0 =
      false;  // every epoch in the order of epoch 0, as some releases of cycling_utils have it
  TorchRelease release = TorchRelease::kSince2_6;
  std::string list_folder = {};  // keeps lists as files too, for a quick start; it exists
};

// torch.utils.data.DistributedSampler: rank r takes the entries r, r + W, r + 2 W, ... of the epoch's list,
// which is filled up from its own front until all ranks have as many, or cut with drop_last.
class DistributedSampler : public Stateful {
 public:
  // Throws std::invalid_argument where the options make no sampler.
  explicit DistributedSampler(DistributedSamplerOptions options);

  [[nodiscard]] const DistributedSamplerOptions& options() const { return options_; }
  [[nodiscard]] std::uint64_t epoch() const { return epoch_; }
  // Goes to the front of that epoch. The epoch at hand is left as it is, wherever it stands.
  void set_epoch(std::uint64_t epoch);

  // Of this rank in this epoch and world: Python's len(sampler), and the sample at a place. Where the epoch
  // began in another world, what it left over after whole rounds of this one does not count.
  [[nodiscard]] std::uint64_t size() const;
  [[nodiscard]] std::uint64_t at(std::uint64_t place) const;

  // Of those, how many are trained, and how many are not.
  [[nodiscard]] std::uint64_t progress() const { return progress_; }
  [[nodiscard]] std::uint64_t remaining() const { return size() - progress_; }

  // The next samples, at most `count`; fewer at the end of the epoch.
  [[nodiscard]] std::vector<std::uint64_t> fetch(std::uint64_t count);
  // That many more are trained. Throws std::invalid_argument if the epoch has fewer left.
  void advance(std::uint64_t samples);
  // Fetches again what is not trained.
  void rewind() { fetched_ = progress_; }

  // Where all ranks stand, and going there; a place of import (ratoon/torch_positions.h) or of another world.
  [[nodiscard]] ListPosition position() const;
  void seek(ListPosition position);

  // Of the whole world, not of the rank: any rank of any world can load it. In another world the rest of the
  // epoch is shared out anew. load_state throws Failure where the state is of other data, seed or order.
  [[nodiscard]] std::string save_state() const override;
  void load_state(std::string_view state) override;
  [[nodiscard]] bool is_position() const override { return true; }

 private:
  [[nodiscard]] const IndexList& list() const;

  DistributedSamplerOptions options_;
  std::uint64_t epoch_ = 0;
  std::uint64_t start_ = 0;     // entries of the list that no round of this world has: less than a round
  std::uint64_t progress_ = 0;  // rounds that are trained
  std::uint64_t fetched_ = 0;
  mutable std::optional<std::pair<std::uint64_t, IndexList>> list_;  // of the seed that was asked for last
};

// Which package's RandomSampler it is. They differ in when they draw.
enum class SamplerFlavour { kTorch, kTorchdata };

// What iterates the sampler. Loaders draw a number for their workers from the same generator when an epoch
// begins.
enum class Loader {
  kNone,               // the program itself
  kInProcess,          // DataLoader or StatefulDataLoader with num_workers = 0
  kWorkers,            // with more
  kPersistentWorkers,  // and persistent_workers = True: only the first epoch begins with a draw
};

struct RandomSamplerOptions {
  std::uint64_t samples = 0;
  bool replacement = false;
  std::uint64_t num_samples = 0;  // an epoch; 0: as many as there are
  SamplerFlavour flavour = SamplerFlavour::kTorch;
  // RandomSampler(data) without generator=: each epoch draws a seed from the generator, which then stands for
  // the default one, that of torch.manual_seed().
  bool seeds_each_epoch = false;
  Loader loader = Loader::kNone;
  TorchRelease release = TorchRelease::kSince2_6;
};

// RandomSampler of torch.utils.data, or of torchdata.stateful_dataloader, over epochs: one generator goes
// through all of them.
class RandomSampler : public Stateful {
 public:
  // Throws std::invalid_argument where the options make no sampler.
  RandomSampler(RandomSamplerOptions options, const TorchGenerator& generator);

  [[nodiscard]] const RandomSamplerOptions& options() const { return options_; }
  [[nodiscard]] std::uint64_t epoch() const { return epoch_; }
  // Iterates anew: the generator goes on from where this epoch leaves it, however much of it was fetched.
  void begin_next_epoch();

  [[nodiscard]] std::uint64_t size() const { return options_.num_samples; }
  [[nodiscard]] std::uint64_t progress() const { return progress_; }
  [[nodiscard]] std::uint64_t remaining() const { return size() - progress_; }

  // As those of DistributedSampler.
  [[nodiscard]] std::vector<std::uint64_t> fetch(std::uint64_t count);
  void advance(std::uint64_t samples);
  void rewind();

  // Where the epoch at hand began, and going to a place in such an epoch. (torchdata's loader with workers
  // has drawn before that, for nothing.)
  [[nodiscard]] const TorchGenerator& generator() const { return generator_; }
  void seek(const TorchGenerator& generator, std::uint64_t progress);

  [[nodiscard]] std::string save_state() const override;
  void load_state(std::string_view state) override;
  [[nodiscard]] bool is_position() const override { return true; }

 private:
  // What fetch() reads: the generator inside the epoch, and the permutation that it made last.
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
  std::optional<Reader> reader_;  // none: at progress_
};

// BatchSampler: the places [first, second) of each batch, of a sampler that has `samples` left.
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
