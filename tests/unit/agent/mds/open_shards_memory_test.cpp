// Memory that runs out while a shard is opened: the caller gets the error, no thread waits for a result that
// will not come, and a failed shard takes no room.
#include <optional>

#include <gtest/gtest.h>

#include "agent/src/mds/shards/open_shards.h"
#include "agent/src/mds/upcoming_shards.h"
#include "tests/support/scarce_memory.h"

namespace ratoon::mds::open_shards_memory_test {
namespace {

using test::scarce_memory;

ShardBytes shard_of_100() {
  std::span<std::byte> room;
  ShardBytes shard = allocate_shard(100, room);
  shard.pinned_bytes = 100;
  return shard;
}

// Gives up at once instead of waiting, because there is no other thread.
Result<ShardBytes> opened(OpenShards& shards, std::size_t shard, std::uint64_t reserved_bytes,
                          const std::function<Result<ShardBytes>()>& open) {
  std::stop_source stop;
  stop.request_stop();
  return shards.find_or_open(shard, reserved_bytes, open, stop.get_token());
}

// Whether the allocation after that number was needed at all.
bool fails_once(OpenShards& shards, std::size_t shard, std::uint64_t reserved_bytes, long after) {
  const std::function<Result<ShardBytes>()> open = [] { return Result(shard_of_100()); };
  scarce_memory.left = after;
  scarce_memory.failing = 1;
  try {
    static_cast<void>(opened(shards, shard, reserved_bytes, open));
  } catch (const std::bad_alloc&) {
    return true;
  }
  scarce_memory.failing = 0;
  return false;
}

// Room for two: the third shard evicts one, and if a failed shard still counted, so would the second. Room is
// made before a shard is opened, or, if nothing was reserved for it, when it is kept.
TEST(OpenShardsMemory, WhatFailedIsOpenedTheNextTimeAndTakesNoRoom) {
  for (const std::uint64_t reserved_bytes : {0u, 100u}) {
    long after = 0;
    for (bool was_needed = true; was_needed; ++after) {
      was_needed = false;
      UpcomingShards future;
      future.expect({0, 1, 2});
      OpenShards shards(3, {.memory_bytes_max = 250, .pinned_bytes_max = 250},
                        [&](std::span<const std::size_t> of) { return future.next_uses(of); });
      for (const std::size_t shard : {0u, 1u, 2u, 0u, 1u}) {
        was_needed |= fails_once(shards, shard, reserved_bytes, after);
        EXPECT_TRUE(opened(shards, shard, reserved_bytes, [] { return Result(shard_of_100()); }));
      }
      EXPECT_EQ(shards.count(), 2u) << reserved_bytes << " reserved, after " << after;
    }
    EXPECT_GT(after, 5);
  }
}

TEST(OpenShardsMemory, NoneIsNeededToEndAnOpening) {
  OpenShards shards(1, {});
  EXPECT_THROW(static_cast<void>(opened(shards, 0, 100,
                                        []() -> Result<ShardBytes> {
                                          scarce_memory.left = 0;
                                          scarce_memory.failing = 1'000'000;
                                          throw std::bad_alloc();
                                        })),
               std::bad_alloc);
  scarce_memory.failing = 0;
  EXPECT_FALSE(shards.is_open_or_opening(0));
  EXPECT_TRUE(opened(shards, 0, 100, [] { return Result(shard_of_100()); }));
}

}  // namespace
}  // namespace ratoon::mds::open_shards_memory_test
