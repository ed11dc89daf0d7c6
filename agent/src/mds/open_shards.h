// OpenShards: the shards that are open in this process. find() takes no lock: a word a shard counts who is
// looking at it this moment, and a shard at which somebody looks is not given up. How many are open, and how
// much memory they take, is bounded; those that nobody asked for lately go first (the clock algorithm).
//
// Thread contract: any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/mds/shard_bytes.h"

namespace ratoon::mds {

class OpenShards {
 public:
  struct Limits {
    std::size_t count_max = 16384;       // of 65,530 mappings that Linux allows a process
    std::uint64_t memory_bytes_max = 0;  // of those that are in memory; one may always be
  };
  OpenShards(std::size_t shards, Limits limits) : limits_(limits), slots_(shards) {}

  // Nothing where the shard is not open. What is returned stays readable as long as its owner is held, also
  // after the shard was given up here.
  [[nodiscard]] std::optional<ShardBytes> find(std::size_t shard);

  // The same, opened by `open` where it is not; of several threads that ask, one opens and the others wait.
  [[nodiscard]] Result<ShardBytes> find_or_open(std::size_t shard,
                                                const std::function<Result<ShardBytes>()>& open);

  [[nodiscard]] std::size_t count() const;

 private:
  struct alignas(64) Slot {  // threads that read neighbours do not share a cache line
    std::atomic<std::uint32_t> word{
        0};  // kOpen, and how many threads are between find()'s first and last line
    std::atomic<bool> is_recent{false};
    ShardBytes bytes;  // written under the slot's lock while neither kOpen nor anybody is in `word`
  };
  static constexpr std::uint32_t kOpen = 1U << 31;

  std::mutex& lock_of(std::size_t shard) { return locks_[shard % locks_.size()]; }
  void note(std::size_t shard, std::uint64_t memory_bytes);
  bool try_close(std::size_t shard);

  const Limits limits_;
  std::vector<Slot> slots_;
  std::array<std::mutex, 61> locks_;  // of opening and closing; of shard i the one at i modulo their number

  mutable std::mutex mutex_;       // never taken by somebody who waits for one of locks_
  std::vector<std::size_t> ring_;  // the shards that are open; guarded by mutex_, like the rest
  std::size_t hand_ = 0;
  std::uint64_t memory_bytes_ = 0;
};

}  // namespace ratoon::mds
