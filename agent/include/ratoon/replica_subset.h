// ReplicaSubset: selects the samples that each rank holds if the data set does not fit one device, and gives
// them an order that a run can resume like any other stream.
//
//   const ratoon::ReplicaSubset mine(
//       {.samples = all->size(), .rank = rank, .world_size = 8, .fraction = 0.25});
//   mine.check_fits(bytes_a_sample, bytes_free);  // before anything is loaded
//   const auto data = ratoon::SubsetDataset::of_ids(all, mine.ids());
//   ratoon::Stream stream(mine.stream({.global_batch = 32, .seed = 17, .source = all->digest()}));
//   for (const ratoon::Slot& slot : stream.take(0, 1)) train_on(data, slot.sample);  // this rank's own 32
//
// ReplicaSubset arranges all N samples in a circle. Rank r of W holds a contiguous range that begins at
// floor(r N / W) and wraps around at the end. With a fraction of 1 / W or more, the ranks together hold every
// sample. Without shuffling, a range is contiguous in the data set, so shards are read in order. Shuffle data
// that is sorted, such as folders of classes.
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
  // The part of all samples that each rank holds, above 0 and up to 1 (samples_pct_per_replica).
  double fraction = 1;
  std::optional<std::uint64_t> shuffle_seed = {};  // shuffles the circle, in the same way on all ranks
};

class ReplicaSubset {
 public:
  // Throws std::invalid_argument if the options describe no subset.
  explicit ReplicaSubset(const ReplicaSubsetOptions& options);

  // The number of the subset's samples: fraction times all samples, rounded up. A product that is within a
  // billionth of a whole number, and within a millionth of a sample, counts as that whole number.
  [[nodiscard]] std::uint64_t size() const { return size_; }
  // Returns the data set's id of sample `place` of the subset.
  [[nodiscard]] std::uint64_t operator[](std::uint64_t place) const;
  [[nodiscard]] std::vector<std::uint64_t> ids() const;

  // Returns whether the ranks together hold every sample of the data set.
  [[nodiscard]] bool covers_all() const;

  // Throws std::overflow_error if the result does not fit 64 bits.
  [[nodiscard]] std::uint64_t bytes_needed(std::uint64_t bytes_a_sample) const;
  // Throws a Failure that states both numbers if fewer bytes are available than the subset needs.
  void check_fits(std::uint64_t bytes_a_sample, std::uint64_t bytes_available) const;

  // Returns options for a stream of this rank alone, over the subset. The options have the subset's size, and
  // a source that names the data set, the rank and the world. The stream therefore refuses a state of another
  // rank or world, and each rank has its own order.
  [[nodiscard]] StreamOptions stream(StreamOptions options) const;

 private:
  ReplicaSubsetOptions options_;
  std::uint64_t start_;
  std::uint64_t size_;
  std::optional<Permutation> circle_;  // none: the order in which the samples are numbered
};

}  // namespace ratoon
