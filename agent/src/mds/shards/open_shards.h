// OpenShards: the shards that are open in this process. find() takes no lock. An atomic counter per shard
// counts the threads that are in find() for this shard, and OpenShards does not close a shard while its
// counter is above 0. The number of open shards and the memory that they take are limited. If a limit is
// exceeded, shards that are not expected to be read are closed first, beginning with the least recently
// requested one (clock algorithm). If all open shards are expected to be read, the one that is needed last is
// closed first.
//
// Thread contract: any thread may call any function.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <utility>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/mds/shards/shard_bytes.h"
#include "base/core/threads/condition_variable.h"

namespace ratoon::mds {

class OpenShards {
 public:
  struct Limits {
    std::size_t count_max = 16384;  // of the 65,530 mappings that Linux allows a process
    // Limits for the bytes of open shards in memory, and for the bytes of files that cannot be evicted from a
    // cache while their shards are open. The shard that was opened last always stays open.
    std::uint64_t memory_bytes_max = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t pinned_bytes_max = std::numeric_limits<std::uint64_t>::max();
  };
  // A function that returns the position at which each of the shards is needed next, like
  // UpcomingShards::next_uses(). OpenShards calls a NextUses function while it holds its lock.
  using NextUses = std::function<std::vector<std::uint64_t>(std::span<const std::size_t> shards)>;
  OpenShards(std::size_t shards, Limits limits, NextUses next_uses = {})
      : limits_(limits), next_uses_(std::move(next_uses)), slots_(shards) {}

  // Returns the bytes of the shard, or nothing if the shard is not open. The bytes stay readable as long as
  // the caller holds ShardBytes::owner, even after OpenShards has closed the shard.
  [[nodiscard]] std::optional<ShardBytes> find(std::size_t shard);

  // Returns the bytes of the shard; if it is not open, opens it by calling `open`. If several threads request
  // one shard, one thread opens it and the others wait. If the opening fails, the waiting threads get the
  // same error, so that a server that does not respond causes one timeout and not one per thread. A waiting
  // thread returns kCancelled when `stop` is requested. Before it opens a shard, find_or_open() closes other
  // shards if necessary, so that the cache can evict their files and store the `pinned_bytes` bytes of the
  // new shard.
  [[nodiscard]] Result<ShardBytes> find_or_open(std::size_t shard, std::uint64_t pinned_bytes,
                                                const std::function<Result<ShardBytes>()>& open,
                                                const std::stop_token& stop = {});

  // Returns true if the shard is open or is being opened.
  [[nodiscard]] bool is_open_or_opening(std::size_t shard) const;
  [[nodiscard]] std::size_t count() const;

  // Closes the shard, unless a thread is in find() for this shard.
  void close(std::size_t shard);

 private:
  struct alignas(64) Slot {  // threads that read neighbours do not share a cache line
    std::atomic<std::uint32_t> open_bit_and_readers{
        0};  // kOpenBit, plus the number of threads that are in find()
    std::atomic<bool> was_used_recently{false};
    ShardBytes bytes;  // written under mutex_ while kOpenBit is not set in `open_bit_and_readers`, read while
                       // it is set
  };
  static constexpr std::uint32_t kOpenBit = 1U << 31;

  struct Opening {  // mutex_ guards the members, which an annotation here cannot express
    explicit Opening(std::uint64_t pinned_bytes) : reserved_bytes(pinned_bytes) {}
    bool is_finished = false;
    std::uint64_t reserved_bytes;  // part of pinned_bytes_ until the shard is open
    std::optional<Error> error{};
  };

  // Opens a shard for which openings_ has an entry.
  [[nodiscard]] Result<ShardBytes> open_shard(std::size_t shard, bool needs_room,
                                              const std::function<Result<ShardBytes>()>& open);
  void end_opening(std::size_t shard, std::optional<Error> error) noexcept;
  void add_open_shard(std::size_t shard, const ShardBytes& bytes) RATOON_REQUIRES(mutex_);
  void close_shards_over_limits() RATOON_REQUIRES(mutex_);
  void close_unexpected_shards(std::vector<std::uint64_t>& uses) RATOON_REQUIRES(mutex_);
  void close_latest_needed_shards(const std::vector<std::uint64_t>& uses) RATOON_REQUIRES(mutex_);
  bool try_close(std::size_t shard) RATOON_REQUIRES(mutex_);
  void drop_from_clock_ring(std::size_t at) RATOON_REQUIRES(mutex_);
  [[nodiscard]] bool exceeds_limits() const RATOON_REQUIRES(mutex_);

  const Limits limits_;
  const NextUses next_uses_;
  std::vector<Slot> slots_;

  mutable Mutex mutex_;
  StoppableConditionVariable opening_ended_;
  // By shard, until its opening ends.
  std::map<std::size_t, std::shared_ptr<Opening>> openings_ RATOON_GUARDED_BY(mutex_);
  // The open shards, in the order of the clock's hand.
  std::vector<std::size_t> clock_ring_ RATOON_GUARDED_BY(mutex_);
  std::size_t clock_hand_ RATOON_GUARDED_BY(mutex_) = 0;
  std::uint64_t memory_bytes_ RATOON_GUARDED_BY(mutex_) = 0;
  std::uint64_t pinned_bytes_ RATOON_GUARDED_BY(mutex_) = 0;
};

}  // namespace ratoon::mds
