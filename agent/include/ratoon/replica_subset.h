// ReplicaSubset: which samples of a data set a rank holds where one device has no room for all, and an order
// over those that can be interrupted like any other.
//
//   const ratoon::ReplicaSubset mine(
//       {.samples = all->size(), .rank = rank, .world_size = 8, .fraction = 0.25});
//   mine.check_fits(bytes_a_sample, bytes_free);  // before anything is loaded
//   const auto data = ratoon::SubsetDataset::of_ids(all, mine.ids());
//   ratoon::Stream stream(mine.stream({.global_batch = 32, .seed = 17, .source = all->digest()}));
//   for (const ratoon::Slot& slot : stream.take(0, 1)) train_on(data, slot.sample);  // this rank's own 32
//
// The data set is a circle of places. Rank r holds a stretch of it that begins at floor(r N / W) and goes
// round behind the end; with a fraction of 1 / W or more, the ranks together hold every sample. Stretches are
// neighbours where samples are not shuffled, so shards are read in a row; data that is sorted, as folders of
// classes are, wants shuffling.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ratoon/permutation.h>
#include <ratoon/stream_options.h>

namespace ratoon {

struct ReplicaSubsetOptions {
  std::uint64_t samples = 0;  // in the data set
  std::uint32_t rank = 0;
  std::uint32_t world_size = 1;
  double fraction = 1;  // of all samples that each rank holds, above 0 and up to 1 (samples_pct_per_replica)
  std::optional<std::uint64_t> shuffle_seed = {};  // shuffles the circle, for all ranks alike
};

class ReplicaSubset {
 public:
  // Throws std::invalid_argument where the options make no subset.
  explicit ReplicaSubset(const ReplicaSubsetOptions& options);

  // The fraction of all samples, rounded up (a product that is a whole number but for a billionth, and a
  // millionth of a sample at most, counts as that).
  [[nodiscard]] std::uint64_t size() const { return size_; }
  // What sample `place` of the subset is called in the whole.
  [[nodiscard]] std::uint64_t operator[](std::uint64_t place) const;
  [[nodiscard]] std::vector<std::uint64_t> ids() const;

  // Whether the ranks together hold every sample.
  [[nodiscard]] bool covers_all() const;

  // Throws std::overflow_error above 2^64.
  [[nodiscard]] std::uint64_t bytes_needed(std::uint64_t bytes_a_sample) const;
  // Throws Failure, with both values, where they are not there.
  void check_fits(std::uint64_t bytes_a_sample, std::uint64_t bytes_available) const;

  // The same options for a stream of this rank alone, over the subset: its samples, and its source, which
  // names data set, rank and world. So the state of another rank or world is refused, and each rank has an
  // order of its own.
  [[nodiscard]] StreamOptions stream(StreamOptions options) const;

 private:
  ReplicaSubsetOptions options_;
  std::uint64_t start_;
  std::uint64_t size_;
  std::optional<Permutation> circle_;  // none: as the samples are numbered
};

}  // namespace ratoon
