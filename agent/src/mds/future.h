// Future: which shards the samples of the near future are in, the nearest first. What was expected long ago
// is forgotten: either it was read, or it never will be.
//
// Thread contract: one thread.
#pragma once

#include <cstddef>
#include <deque>
#include <span>
#include <vector>

namespace ratoon::mds {

class Future {
 public:
  // So many calls of expect() back; a loader looks 16 batches ahead.
  explicit Future(std::size_t calls_max = 24) : calls_max_(calls_max) {}

  // Shards of one batch, in the order of need; they are needed after those of the batches before.
  void expect(std::vector<std::size_t> shards);

  // Each once.
  [[nodiscard]] std::vector<std::size_t> shards() const;

 private:
  const std::size_t calls_max_;
  std::deque<std::vector<std::size_t>> calls_;
};

// The same without those that came before.
[[nodiscard]] std::vector<std::size_t> distinct(std::span<const std::size_t> shards);

}  // namespace ratoon::mds
