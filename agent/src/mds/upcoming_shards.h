// UpcomingShards: the shards with the samples that are expected next, in the order in which they are needed.
// Pure: the reader adds expected samples, and removes them after reading or after a change of position.
//
// Thread contract: one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <span>
#include <vector>

namespace ratoon::mds {

// The limited resources that a shard uses while it is open.
struct ShardCost {
  std::uint64_t memory_bytes = 0;  // of this process's own memory
  std::uint64_t cache_bytes = 0;   // of a cache whose files are evicted
};

class UpcomingShards {
 public:
  static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

  // Adds the shards of one batch, in the order of need, after the shards of all earlier calls.
  void expect(std::vector<std::size_t> shards);
  // Removes the shards of the oldest call of expect() that got exactly `shards`, if there is one.
  void expect_no_more(std::span<const std::size_t> shards);

  // Returns each shard once, in the order of need.
  [[nodiscard]] std::vector<std::size_t> shards() const;
  // Returns when each shard is needed next: its position in shards(), or kNever.
  [[nodiscard]] std::vector<std::uint64_t> next_uses(std::span<const std::size_t> of) const;

 private:
  std::deque<std::vector<std::size_t>> calls_;
};

// Returns `shards` without repetitions, in the order of their first occurrence.
[[nodiscard]] std::vector<std::size_t> distinct(std::span<const std::size_t> shards);

// Returns how many of the first shards fit into `room` together. Shards that are opened ahead must not
// displace shards that are needed earlier. The first shard always counts as fitting, however large it is.
[[nodiscard]] std::size_t fitting(std::span<const ShardCost> costs, const ShardCost& room);

}  // namespace ratoon::mds
