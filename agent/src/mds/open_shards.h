// OpenShards: the shards that are open in this process. find() takes no lock: a word a shard counts who is
// looking at it this moment, and a shard at which somebody looks is not given up. How many are open, and what
// they take, is bounded; those that nobody asked for lately go first (the clock algorithm).
//
// Thread contract: any thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <stop_token>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/mds/shard_bytes.h"

namespace ratoon::mds {

class OpenShards {
 public:
  struct Limits {
    std::size_t count_max = 16384;  // of the 65,530 mappings that Linux allows a process
    // Of those that are in memory, and of those that keep their file in a cache; the one that was opened last
    // stays in any case.
    std::uint64_t memory_bytes_max = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t held_bytes_max = std::numeric_limits<std::uint64_t>::max();
  };
  OpenShards(std::size_t shards, Limits limits) : limits_(limits), slots_(shards) {}

  // Nothing where the shard is not open. What is returned stays readable as long as its owner is held, also
  // after the shard was given up here.
  [[nodiscard]] std::optional<ShardBytes> find(std::size_t shard);

  // The same, opened by `open` where it is not; of several threads that ask, one opens and the others wait.
  // Whoever waits gives up when it is told to: kCancelled. Room for what it will take of a cache's files,
  // `held_bytes`, is made before: what we hold open might be what the cache needs to evict for it.
  [[nodiscard]] Result<ShardBytes> find_or_open(std::size_t shard, std::uint64_t held_bytes,
                                                const std::function<Result<ShardBytes>()>& open,
                                                const std::stop_token& stop = {});

  // Whether it is open or about to be.
  [[nodiscard]] bool is_coming(std::size_t shard) const;
  [[nodiscard]] std::size_t count() const;

 private:
  struct alignas(64) Slot {  // threads that read neighbours do not share a cache line
    std::atomic<std::uint32_t> word{
        0};  // kOpen, and how many threads are between find()'s first and last line
    std::atomic<bool> is_recent{false};
    bool is_opening = false;  // guarded by mutex_
    ShardBytes bytes;         // written under mutex_ while kOpen is not in `word`, read while it is
  };
  static constexpr std::uint32_t kOpen = 1U << 31;

  void end_opening(Slot& slot, std::uint64_t held_bytes);
  // With mutex_ held.
  void keep(std::size_t shard, const ShardBytes& bytes);
  void make_room();
  bool try_close(std::size_t shard);
  [[nodiscard]] bool is_over() const;

  const Limits limits_;
  std::vector<Slot> slots_;

  mutable std::mutex mutex_;
  std::condition_variable_any opened_;
  std::vector<std::size_t> ring_;  // the shards that are open, in the order of the clock's hand
  std::size_t hand_ = 0;
  std::uint64_t memory_bytes_ = 0;
  std::uint64_t held_bytes_ = 0;
};

}  // namespace ratoon::mds
