// OpenShards: the shards that are open in this process. find() takes no lock: a word a shard counts who is
// looking at it this moment, and a shard at which somebody looks is not given up. How many are open, and what
// they take, is bounded: those that nobody expects go first, and of them those that nobody asked for lately
// (the clock algorithm); then those that are expected latest.
//
// Thread contract: any thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <utility>
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
  // When shards will be needed next, as Future::next_uses says it. Called with a lock held.
  using NextUses = std::function<std::vector<std::uint64_t>(std::span<const std::size_t> shards)>;
  OpenShards(std::size_t shards, Limits limits, NextUses next_uses = {})
      : limits_(limits), next_uses_(std::move(next_uses)), slots_(shards) {}

  // Nothing where the shard is not open. What is returned stays readable as long as its owner is held, also
  // after the shard was given up here.
  [[nodiscard]] std::optional<ShardBytes> find(std::size_t shard);

  // The same, opened by `open` where it is not; of several threads that ask, one opens and the others wait,
  // and what it fails with is theirs too: a silent server costs one deadline, not one a thread. Whoever waits
  // gives up when it is told to: kCancelled. Room for what it will take of a cache's files, `held_bytes`, is
  // made before: what we hold open might be what the cache needs to evict for it.
  [[nodiscard]] Result<ShardBytes> find_or_open(std::size_t shard, std::uint64_t held_bytes,
                                                const std::function<Result<ShardBytes>()>& open,
                                                const std::stop_token& stop = {});

  // Whether it is open or about to be.
  [[nodiscard]] bool is_coming(std::size_t shard) const;
  [[nodiscard]] std::size_t count() const;

  // Gives it up unless somebody looks at it this moment.
  void close(std::size_t shard);

 private:
  struct alignas(64) Slot {  // threads that read neighbours do not share a cache line
    std::atomic<std::uint32_t> word{
        0};  // kOpen, and how many threads are between find()'s first and last line
    std::atomic<bool> is_recent{false};
    ShardBytes bytes;  // written under mutex_ while kOpen is not in `word`, read while it is
  };
  static constexpr std::uint32_t kOpen = 1U << 31;

  struct Opening {
    explicit Opening(std::uint64_t held_bytes) : reserved_bytes(held_bytes) {}
    bool is_over = false;
    std::uint64_t reserved_bytes;  // of held_bytes_, until it is open
    std::optional<Error> error{};
  };

  // Of a shard that is in openings_.
  [[nodiscard]] Result<ShardBytes> open_one(std::size_t shard, bool needs_room,
                                            const std::function<Result<ShardBytes>()>& open);
  void end_opening(std::size_t shard, std::optional<Error> error) noexcept;
  // With mutex_ held.
  void keep(std::size_t shard, const ShardBytes& bytes);
  void make_room();
  void make_room_of_unexpected(std::vector<std::uint64_t>& uses);
  void make_room_of_latest(const std::vector<std::uint64_t>& uses);
  bool try_close(std::size_t shard);
  void drop_from_ring(std::size_t at);
  [[nodiscard]] bool is_over() const;

  const Limits limits_;
  const NextUses next_uses_;
  std::vector<Slot> slots_;

  mutable std::mutex mutex_;
  std::condition_variable_any opened_;
  std::map<std::size_t, std::shared_ptr<Opening>> openings_;  // by shard, while they last
  std::vector<std::size_t> ring_;  // the shards that are open, in the order of the clock's hand
  std::size_t hand_ = 0;
  std::uint64_t memory_bytes_ = 0;
  std::uint64_t held_bytes_ = 0;
};

}  // namespace ratoon::mds
