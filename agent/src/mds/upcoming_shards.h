// UpcomingShards: the shards of the samples that will be read next, in the order in which they are needed.
// UpcomingShards opens no shards. ShardReader adds the shards of expected samples. It removes these shards
// when the samples were read or are no longer expected.
//
// Thread contract: only one thread at a time may use an object of this file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <span>
#include <vector>

namespace ratoon::mds {

// ShardCost: the limited resources that a shard uses while it is open.
struct ShardCost {
  std::uint64_t memory_bytes = 0;  // of this process's own memory
  std::uint64_t cache_bytes = 0;   // of a cache whose files are evicted
};

class UpcomingShards {
 public:
  static constexpr std::uint64_t kNeverUsed = std::numeric_limits<std::uint64_t>::max();

  // Adds the shards of one batch, in the order in which they are needed, after the shards of all earlier
  // calls.
  void expect(std::vector<std::size_t> shards);
  // Withdraws the oldest call of expect() whose argument was exactly `shards`, if there is one.
  void expect_no_more(std::span<const std::size_t> shards);

  // Returns each expected shard once, in the order in which they are needed.
  [[nodiscard]] std::vector<std::size_t> shards() const;
  // Returns when each shard is needed next: its position in shards(), or kNeverUsed.
  [[nodiscard]] std::vector<std::uint64_t> next_uses(std::span<const std::size_t> of) const;

 private:
  std::deque<std::vector<std::size_t>> expected_batches_;
};

// Returns `shards` without repetitions, in the order of their first occurrence.
[[nodiscard]] std::vector<std::size_t> distinct_shards(std::span<const std::size_t> shards);

// `costs` holds the costs of shards in the order in which they are needed. Returns the largest number n for
// which the first n shards together fit into `room`. Opening more shards ahead could displace shards that are
// needed earlier. The first shard always counts as fitting, even if it is larger than `room`.
[[nodiscard]] std::size_t count_fitting_shards(std::span<const ShardCost> costs, const ShardCost& room);

}  // namespace ratoon::mds
