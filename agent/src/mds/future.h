// Future: which shards the samples of the known future are in, the nearest first. Pure: whoever reads says
// what comes, and takes it back when it was read or when the position moved.
//
// Thread contract: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <span>
#include <vector>

namespace ratoon::mds {

// What a shard takes while it is open, of what is limited.
struct ShardCost {
  std::uint64_t memory_bytes = 0;  // of this process's own memory
  std::uint64_t cache_bytes = 0;   // of a cache whose files are evicted
};

class Future {
 public:
  static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

  // Shards of one batch, in the order of need; they are needed after those of the calls before.
  void expect(std::vector<std::size_t> shards);
  // Takes back the oldest call with these very shards, if there is one.
  void expect_no_more(std::span<const std::size_t> shards);

  // Each once.
  [[nodiscard]] std::vector<std::size_t> shards() const;
  // When each will be needed next: its place in shards(), or kNever.
  [[nodiscard]] std::vector<std::uint64_t> next_uses(std::span<const std::size_t> of) const;

 private:
  std::deque<std::vector<std::size_t>> calls_;
};

// The same without those that came before.
[[nodiscard]] std::vector<std::size_t> distinct(std::span<const std::size_t> shards);

// How many of the first fit into the room together: what is opened ahead must not drive out what is needed
// before it. The first one always does.
[[nodiscard]] std::size_t fitting(std::span<const ShardCost> costs, const ShardCost& room);

}  // namespace ratoon::mds
