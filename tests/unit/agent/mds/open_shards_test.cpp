#include "agent/src/mds/shards/open_shards.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "agent/src/mds/upcoming_shards.h"

namespace ratoon::mds::open_shards_test {
namespace {

// A shard in memory whose bytes are all its own number; `alive` counts the shards that are still held.
ShardBytes shard_of(std::size_t number, std::atomic<int>& alive, std::size_t size = 100) {
  ++alive;
  const auto memory = std::shared_ptr<std::vector<std::byte>>(
      std::make_unique<std::vector<std::byte>>(size, static_cast<std::byte>(number)).release(),
      [&alive](std::vector<std::byte>* bytes) {
        std::fill(bytes->begin(), bytes->end(), std::byte{0xee});
        const std::unique_ptr<std::vector<std::byte>> owned(bytes);
        --alive;
      });
  return {.bytes = *memory, .owner = memory, .memory_bytes = size};
}

TEST(OpenShards, AreOpenedOnce) {
  OpenShards shards(3, {.memory_bytes_max = 1000});
  std::atomic<int> alive{0};
  EXPECT_FALSE(shards.find(1));
  for (int i = 0; i < 3; ++i) {
    const auto opened = shards.find_or_open(1, 0, [&] { return Result(shard_of(1, alive)); });
    EXPECT_EQ(opened->bytes[0], std::byte{1});
  }
  EXPECT_EQ(alive, 1);
  EXPECT_TRUE(shards.find(1));
  EXPECT_FALSE(shards.find(0));
}

TEST(OpenShards, AFailureIsNotKept) {
  OpenShards shards(1, {});
  EXPECT_EQ(shards.find_or_open(0, 0, [] { return Result<ShardBytes>(Error(ErrorKind::kIo, "no")); })
                .error()
                .message(),
            "no");
  EXPECT_FALSE(shards.find(0));
  std::atomic<int> alive{0};
  EXPECT_TRUE(shards.find_or_open(0, 0, [&] { return Result(shard_of(0, alive)); }));
}

TEST(OpenShards, WhoeverWaitsSharesAFailure) {
  constexpr int kRounds = 50;
  constexpr int kThreads = 4;
  std::atomic<int> tries{0};
  for (int round = 0; round < kRounds; ++round) {
    OpenShards shards(1, {});
    std::atomic<int> arrived{0};
    const auto open_slowly = [&] {
      ++tries;
      while (arrived < kThreads) std::this_thread::yield();
      for (int i = 0; i < 500; ++i) std::this_thread::yield();  // so that the others wait by now
      return Result<ShardBytes>(Error(ErrorKind::kTimeout, "silent"));
    };
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        ++arrived;
        EXPECT_EQ(shards.find_or_open(0, 0, open_slowly).error().message(), "silent");
      });
    }
  }
  EXPECT_LT(tries, 2 * kRounds) << "each thread waited for a deadline of its own";
}

TEST(OpenShards, AnExceptionLeavesNobodyWaiting) {
  OpenShards shards(1, {});
  EXPECT_THROW(
      static_cast<void>(shards.find_or_open(0, 0, []() -> Result<ShardBytes> { throw std::bad_alloc(); })),
      std::bad_alloc);
  std::atomic<int> alive{0};
  EXPECT_TRUE(shards.find_or_open(0, 0, [&] { return Result(shard_of(0, alive)); }));
}

TEST(OpenShards, WhoeverWaitsMayGiveUp) {
  OpenShards shards(1, {});
  std::atomic<int> alive{0};
  std::atomic<bool> may_go{false}, is_opening{false};
  std::thread opener([&] {
    EXPECT_TRUE(shards.find_or_open(0, 0, [&] {
      is_opening = true;
      while (!may_go) std::this_thread::yield();
      return Result(shard_of(0, alive));
    }));
  });
  while (!is_opening) std::this_thread::yield();
  EXPECT_TRUE(shards.is_open_or_opening(0));
  std::stop_source stop;
  std::thread stopper([&] { stop.request_stop(); });
  const auto waited = shards.find_or_open(0, 0, [&] { return Result(shard_of(0, alive)); }, stop.get_token());
  stopper.join();
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().kind(), ErrorKind::kCancelled);
  may_go = true;
  opener.join();
  EXPECT_TRUE(shards.find(0));
}

TEST(OpenShards, NumberAndMemoryAreBounded) {
  std::atomic<int> alive{0};
  OpenShards few(100, {.count_max = 7, .memory_bytes_max = 1'000'000});
  OpenShards small(100, {.memory_bytes_max = 550});
  for (std::size_t i = 0; i < 100; ++i) {
    ASSERT_TRUE(few.find_or_open(i, 0, [&] { return Result(shard_of(i, alive)); }));
    ASSERT_TRUE(small.find_or_open(i, 0, [&] { return Result(shard_of(i, alive)); }));
    EXPECT_EQ(few.find(i)->bytes[0], static_cast<std::byte>(i));
  }
  EXPECT_EQ(few.count(), 7u);
  EXPECT_EQ(small.count(), 5u);
  EXPECT_EQ(alive, 12);
}

// The cache may need our held files before it can fetch the wanted one.
TEST(OpenShards, RoomInACacheIsMadeBeforeOpening) {
  std::atomic<int> alive{0};
  const auto held = [&](std::size_t number) {
    ShardBytes shard = shard_of(number, alive);
    shard.pinned_bytes = 100;
    return Result(shard);
  };
  OpenShards shards(3, {.pinned_bytes_max = 150});
  ASSERT_TRUE(shards.find_or_open(0, 100, [&] { return held(0); }));
  ASSERT_TRUE(shards.find_or_open(1, 100, [&] {
    EXPECT_EQ(alive, 0);
    return held(1);
  }));
  EXPECT_FALSE(shards.find_or_open(2, 100, [] { return Result<ShardBytes>(Error(ErrorKind::kIo, "no")); }));
  EXPECT_EQ(shards.count(), 0u);
  ASSERT_TRUE(shards.find_or_open(2, 40, [&] { return held(2); }));  // what failed takes no room any more
  EXPECT_TRUE(shards.find(2));
}

// The reserved room for a shard is the room that it takes, not twice as much.
TEST(OpenShards, AnOpenedShardCountsOnce) {
  std::atomic<int> alive{0};
  OpenShards shards(3, {.pinned_bytes_max = 250});
  for (std::size_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(shards.find_or_open(i, 100, [&] {
      ShardBytes shard = shard_of(i, alive);
      shard.pinned_bytes = 100;
      return Result(shard);
    }));
    EXPECT_EQ(shards.count(), i == 0 ? 1u : 2u);
  }
}

TEST(OpenShards, OneMayAlwaysBeOpen) {
  std::atomic<int> alive{0};
  OpenShards shards(2, {.memory_bytes_max = 0});
  for (std::size_t i = 0; i < 2; ++i) {
    ASSERT_TRUE(shards.find_or_open(i, 0, [&] { return Result(shard_of(i, alive)); }));
    EXPECT_TRUE(shards.find(i));
  }
  EXPECT_EQ(alive, 1);
}

TEST(OpenShards, WhatIsHeldStaysReadable) {
  std::atomic<int> alive{0};
  OpenShards shards(3, {.count_max = 1, .memory_bytes_max = 1000});
  const auto held = shards.find_or_open(0, 0, [&] { return Result(shard_of(0, alive)); });
  for (std::size_t i = 1; i < 3; ++i)
    ASSERT_TRUE(shards.find_or_open(i, 0, [&] { return Result(shard_of(i, alive)); }));
  EXPECT_FALSE(shards.find(0));
  EXPECT_EQ(held->bytes[99], std::byte{0});
  EXPECT_EQ(alive, 2);
}

TEST(OpenShards, ThoseThatAreReadStayBeforeThoseThatAreNot) {
  std::atomic<int> alive{0};
  OpenShards shards(200, {.count_max = 10, .memory_bytes_max = 1'000'000});
  for (std::size_t i = 0; i < 200; ++i) {
    ASSERT_TRUE(shards.find_or_open(i, 0, [&] { return Result(shard_of(i, alive)); }));
    EXPECT_TRUE(shards.find(0)) << i;  // read all the time
  }
}

// Run under ThreadSanitizer and AddressSanitizer: a shard that find() returns is never one that another
// thread releases.
TEST(OpenShards, ManyThreadsReadWhileShardsComeAndGo) {
  constexpr std::size_t kShards = 40;
  constexpr int kReads = 20'000;
  std::atomic<int> alive{0}, wrong{0};
  {
    OpenShards shards(kShards, {.count_max = 5, .memory_bytes_max = 2000});
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        std::uint64_t state = t + 1;
        for (int i = 0; i < kReads; ++i) {
          state = state * 6364136223846793005U + 1442695040888963407U;
          const std::size_t number = (state >> 33) % (i % 8 == 0 ? kShards : 4);
          auto found = shards.find(number);
          if (!found)
            found = shards.find_or_open(number, 0, [&] { return Result(shard_of(number, alive)); }).value();
          if (found->bytes.front() != static_cast<std::byte>(number) ||
              found->bytes.back() != found->bytes.front())
            ++wrong;
        }
      });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_LE(shards.count(), 5u + threads.size());  // those that were just looked at may stay once
    EXPECT_EQ(static_cast<std::size_t>(alive), shards.count());
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(alive, 0);
}

// Room is made from shards that are not expected, however recently they were read, then from the shards that
// are needed latest; the shard that is needed next is the last to go.
TEST(OpenShards, WhatIsNeededNextIsGivenUpLast) {
  UpcomingShards future;
  OpenShards shards(10, {.memory_bytes_max = 400},
                    [&](std::span<const std::size_t> of) { return future.next_uses(of); });
  std::atomic<int> alive{0};
  const auto open = [&](std::size_t shard) {
    ASSERT_TRUE(shards.find_or_open(shard, 0, [&] { return Result(shard_of(shard, alive)); }));
  };
  future.expect({3, 1});
  future.expect({0, 4, 5, 6});
  for (const std::size_t shard : {0u, 1u, 2u, 3u}) open(shard);
  EXPECT_TRUE(shards.find(2)) << "which is the last to be read";
  open(4);
  EXPECT_FALSE(shards.find(2)) << "and nobody expects it";
  open(5);
  EXPECT_FALSE(shards.find(4)) << "the latest";
  future.expect_no_more(std::vector<std::size_t>{3, 1});
  open(6);
  EXPECT_TRUE(shards.find(0));
  EXPECT_TRUE(shards.find(5));
  EXPECT_TRUE(shards.find(6));
  EXPECT_NE(shards.find(1).has_value(), shards.find(3).has_value()) << "one of those that were read";
  shards.close(0);
  EXPECT_FALSE(shards.find(0));
  EXPECT_EQ(shards.count(), 3u);
}

}  // namespace
}  // namespace ratoon::mds::open_shards_test
