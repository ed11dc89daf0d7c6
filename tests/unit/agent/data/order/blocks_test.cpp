#include <algorithm>
#include <set>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/stream.h>

namespace ratoon::blocks_test {
namespace {

StreamOptions blocks_of(std::vector<std::uint64_t> shards, std::uint64_t window_shards) {
  return {.global_batch = 4,
          .seed = 5,
          .order = SampleOrder::kBlocks,
          .window_shards = window_shards,
          .sources = {{.name = "shards", .shards = std::move(shards)}}};
}

std::vector<Slot> epoch_of(const Stream& stream, std::uint64_t epoch) {
  std::vector<Slot> slots(stream.epoch_slots());
  stream.reader().fill(epoch * slots.size(), slots);
  return slots;
}

TEST(Blocks, EveryEpochHasEverySampleOnceAndKnowsWhere) {
  const std::vector<std::vector<std::uint64_t>> cuts = {
      {1}, {5}, {3, 4}, {4, 0, 3}, {0, 0, 7}, {2, 2, 2, 2, 2}, {1, 9, 1, 30, 2, 0, 5}, {64, 64, 64, 64, 7}};
  for (const auto& shards : cuts) {
    for (const std::uint64_t window : {1u, 2u, 3u, 100u}) {
      const Stream stream(blocks_of(shards, window));
      for (const std::uint64_t epoch : {0u, 1u, 7u}) {
        std::set<std::uint64_t> seen;
        for (const Slot& slot : epoch_of(stream, epoch)) {
          ASSERT_TRUE(seen.insert(slot.sample).second) << "twice";
          ASSERT_LT(slot.sample, stream.epoch_slots());
          ASSERT_EQ(slot, stream.at(slot.number));
          ASSERT_EQ(stream.slot_of(epoch, slot.sample), slot.number);
        }
      }
    }
  }
}

// 64 shards of 100 samples: in each stretch of a window's slots there are that many shards, whole.
TEST(Blocks, OnlyTheShardsOfOneWindowAreOpen) {
  for (const std::uint64_t window : {1u, 4u, 16u}) {
    const Stream stream(blocks_of(std::vector<std::uint64_t>(64, 100), window));
    const std::vector<Slot> slots = epoch_of(stream, 3);
    for (std::size_t start = 0; start < slots.size(); start += window * 100) {
      std::set<std::uint64_t> shards;
      for (std::size_t i = start; i < start + window * 100; ++i) shards.insert(slots[i].sample / 100);
      ASSERT_EQ(shards.size(), window);
    }
  }
}

TEST(Blocks, EveryEpochHasOtherWindowsAndAnotherOrderInThem) {
  const Stream stream(blocks_of(std::vector<std::uint64_t>(64, 100), 4));
  const auto first_window = [&](std::uint64_t epoch) {
    std::set<std::uint64_t> shards;
    const std::vector<Slot> slots = epoch_of(stream, epoch);
    for (std::size_t i = 0; i < 400; ++i) shards.insert(slots[i].sample / 100);
    return shards;
  };
  EXPECT_NE(first_window(0), first_window(1));
  const std::vector<Slot> slots = epoch_of(stream, 0);
  EXPECT_FALSE(std::is_sorted(slots.begin(), slots.begin() + 400,
                              [](const Slot& a, const Slot& b) { return a.sample < b.sample; }));
}

// With one shard there is one window, in each epoch and for each seed.
TEST(Blocks, AWindowThatComesAgainHasAnotherOrder) {
  const auto samples_of = [](std::uint64_t seed, std::uint64_t epoch) {
    StreamOptions options = blocks_of({200}, 1);
    options.seed = seed;
    std::vector<std::uint64_t> samples;
    for (const Slot& slot : epoch_of(Stream(options), epoch)) samples.push_back(slot.sample);
    return samples;
  };
  EXPECT_EQ(samples_of(5, 0), samples_of(5, 0));
  EXPECT_NE(samples_of(5, 0), samples_of(5, 1));
  EXPECT_NE(samples_of(5, 0), samples_of(6, 0));
}

TEST(Blocks, RefuseShardsThatMakeNoStream) {
  EXPECT_THROW(Stream(blocks_of({}, 2)), std::invalid_argument);
  EXPECT_THROW(Stream(blocks_of({0, 0}, 2)), std::invalid_argument);
  EXPECT_THROW(Stream(blocks_of({3, 4}, 0)), std::invalid_argument);
  EXPECT_THROW(Stream(blocks_of({~0ULL, 2}, 1)), std::invalid_argument);
  StreamOptions options = blocks_of({3, 4}, 2);
  options.sources[0].samples = 8;
  EXPECT_THROW(Stream{options}, std::invalid_argument) << "shards have 7";
  options.sources[0].samples = 7;
  EXPECT_EQ(Stream(options).epoch_slots(), 7u);
}

TEST(InOrder, SamplesComeAsTheyAreNumbered) {
  Stream stream({.samples = 5, .global_batch = 7, .order = SampleOrder::kInOrder});
  std::vector<std::uint64_t> samples;
  for (const Slot& slot : stream.take(0, 1)) samples.push_back(slot.sample);
  EXPECT_THAT(samples, testing::ElementsAre(0, 1, 2, 3, 4, 0, 1));
  EXPECT_EQ(stream.slot_of(3, 2), 17u);
}

}  // namespace
}  // namespace ratoon::blocks_test
