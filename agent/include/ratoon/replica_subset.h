// ReplicaSubset: selects the samples that each rank keeps on its device if the data set is too large for one
// device. Each rank trains its samples in an order that can be resumed.
//
//   const ratoon::ReplicaSubset mine(
//       {.samples = all->size(), .rank = rank, .world_size = 8, .fraction = 0.25});
//   mine.check_fits(bytes_a_sample, bytes_free);  // before anything is loaded
//   const auto data = ratoon::SubsetDataset::of_ids(all, mine.ids());
//   ratoon::Stream stream(mine.stream({.global_batch = 32, .seed = 17, .source = all->digest()}));
//   for (const ratoon::Slot& slot : stream.take(0, 1)) train_on(data, slot.sample);  // this rank's own 32
//
// ReplicaSubset arranges all N samples of the data set in a circle, in which place 0 follows the last place.
// Rank r of W ranks holds a contiguous range of places, which begins at place floor(r N / W). If each of the
// W ranks holds a fraction of 1 / W or more, the ranks together hold every sample. Without a shuffle_seed,
// the circle has the order of the data set, so a rank reads its shards in order. If the data is sorted, for
// example by class, set shuffle_seed.
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
  // The fraction of all samples that each rank holds, above 0 and up to 1 (samples_pct_per_replica in other
  // libraries).
  double fraction = 1;
  std::optional<std::uint64_t> shuffle_seed = {};  // shuffles the circle, in the same way on all ranks
};

class ReplicaSubset {
 public:
  // Throws std::invalid_argument if the options describe no subset.
  explicit ReplicaSubset(const ReplicaSubsetOptions& options);

  // The number of the subset's samples: fraction times all samples, rounded up. If the product exceeds a
  // whole number by at most 1e-9 of the product, and by at most 1e-6, size() is this whole number, because
  // the excess is a rounding error.
  [[nodiscard]] std::uint64_t size() const { return size_; }
  // Returns the id, in the whole data set, of sample number `place` of the subset.
  [[nodiscard]] std::uint64_t operator[](std::uint64_t place) const;
  [[nodiscard]] std::vector<std::uint64_t> ids() const;

  // Returns whether the ranks together hold every sample of the data set.
  [[nodiscard]] bool covers_all() const;

  // Returns the size in bytes of all samples of the subset. Throws std::overflow_error if the number of bytes
  // exceeds 64 bits.
  [[nodiscard]] std::uint64_t bytes_needed(std::uint64_t bytes_a_sample) const;
  // Throws a Failure if fewer bytes are available than the subset needs. The message of the Failure states
  // the needed and the available bytes.
  void check_fits(std::uint64_t bytes_a_sample, std::uint64_t bytes_available) const;

  // Returns options for a stream of this rank alone, over the subset. The returned options have the
  // subset's size, and a source name made of the data set's name, the rank and the number of ranks. The
  // stream of each rank has its own order, and refuses a state that another rank or another number of ranks
  // saved.
  [[nodiscard]] StreamOptions stream(StreamOptions options) const;

 private:
  ReplicaSubsetOptions options_;
  std::uint64_t start_;
  std::uint64_t size_;
  std::optional<Permutation> permutation_;  // none: the order in which the samples are numbered
};

}  // namespace ratoon
