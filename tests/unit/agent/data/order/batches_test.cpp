// The borders of batches, and the values that follow: epochs, schedules, accounts.
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/schedule.h>
#include <ratoon/stream.h>

namespace ratoon::batches_test {
namespace {

using testing::ElementsAre;

StreamOptions of(std::uint64_t samples, std::uint64_t batch, EpochEnd epoch_end) {
  return {.samples = samples, .global_batch = batch, .seed = 1, .source = "s", .epoch_end = epoch_end};
}

std::vector<SlotRange> first_batches(const Stream& stream, std::uint64_t count) {
  std::vector<SlotRange> batches;
  for (std::uint64_t k = 0; k < count; ++k) batches.push_back(stream.reader().batch(k));
  return batches;
}

TEST(Batches, CarryOverTheEndOfAnEpoch) {
  const Stream stream(of(10, 4, EpochEnd::kCarry));
  EXPECT_THAT(first_batches(stream, 4),
              ElementsAre(SlotRange{0, 4}, SlotRange{4, 8}, SlotRange{8, 12}, SlotRange{12, 16}));
  EXPECT_EQ(stream.batches_per_epoch(), 3u);
}

TEST(Batches, EndShortWithTheEpoch) {
  const Stream stream(of(10, 4, EpochEnd::kShort));
  EXPECT_THAT(first_batches(stream, 4),
              ElementsAre(SlotRange{0, 4}, SlotRange{4, 8}, SlotRange{8, 10}, SlotRange{10, 14}));
  EXPECT_EQ(stream.batches_per_epoch(), 3u);
  EXPECT_EQ(Stream(of(3, 8, EpochEnd::kShort)).next_batch(), (SlotRange{0, 3})) << "an epoch a batch";
}

TEST(Batches, DropWhatFillsNone) {
  Stream stream(of(10, 4, EpochEnd::kDrop));
  EXPECT_THAT(first_batches(stream, 3), ElementsAre(SlotRange{0, 4}, SlotRange{4, 8}, SlotRange{10, 14}));
  EXPECT_EQ(stream.batches_per_epoch(), 2u);
  stream.advance(2);
  EXPECT_EQ(stream.cursor(), 10u) << "where the next batch begins";
  EXPECT_EQ(stream.epoch(), 1u);
  EXPECT_THAT(stream.accounts(),
              ElementsAre(SourceAccount{.drawn = 8, .skipped = 2, .epochs = 0, .rest = 8}));
  EXPECT_THROW(Stream(of(3, 4, EpochEnd::kDrop)), std::invalid_argument);
  EXPECT_THROW(stream.change_global_batch(11), std::invalid_argument);
}

// The formulas beside a loop that takes one batch after the other.
TEST(Batches, AreWhatAWalkOverThemGives) {
  for (const EpochEnd epoch_end : {EpochEnd::kCarry, EpochEnd::kShort, EpochEnd::kDrop}) {
    for (std::uint64_t samples = 1; samples <= 13; ++samples) {
      for (std::uint64_t size = 1; size <= 15; ++size) {
        if (epoch_end == EpochEnd::kDrop && size > samples) continue;
        SCOPED_TRACE(std::to_string(samples) + " samples, batch " + std::to_string(size));
        Stream stream(of(samples, size, epoch_end));
        for (std::uint64_t k = 0; k < 20; ++k) {
          const SlotRange batch = stream.next_batch();
          ASSERT_EQ(batch, stream.reader().batch(k));
          ASSERT_EQ(batch.first, stream.cursor());
          const std::uint64_t left = samples - batch.first % samples;
          ASSERT_EQ(batch.size(), epoch_end == EpochEnd::kShort ? std::min(left, size) : size);
          for (std::uint64_t slot = batch.first; slot < batch.last; ++slot)
            ASSERT_EQ(stream.reader().batch_with(slot), k);
          stream.advance();
          for (std::uint64_t slot = batch.last; slot < stream.cursor(); ++slot)
            ASSERT_EQ(stream.reader().batch_with(slot), std::nullopt);
          for (std::uint64_t slot = batch.first + 1; slot <= stream.cursor(); ++slot)
            ASSERT_EQ(stream.reader().batches_until(slot), k + 1) << "slot " << slot;
          ASSERT_TRUE(epoch_end == EpochEnd::kDrop || stream.cursor() == batch.last);
        }
      }
    }
  }
}

TEST(Batches, EpochsAreCountedInWholeNumbers) {
  Stream stream(of(10, 4, EpochEnd::kCarry));
  EXPECT_EQ(stream.batches_until_epoch(2), 5u);
  EXPECT_EQ(stream.batches_until_epoch(3), 8u);
  stream.advance(6);
  EXPECT_EQ(stream.epoch(), 2u);
  EXPECT_EQ(stream.index_in_epoch(), 4u);
  EXPECT_THAT(stream.accounts(),
              ElementsAre(SourceAccount{.drawn = 24, .skipped = 0, .epochs = 2, .rest = 4}));
  EXPECT_EQ(stream.batches_until_epoch(2), 5u) << "of the run, not from here on";
}

TEST(Batches, AreTrainedOneByOneOrUpToASlot) {
  Stream by_one(of(10, 4, EpochEnd::kShort));
  for (int k = 0; k < 4; ++k) static_cast<void>(by_one.take(0, 2));
  Stream at_once(of(10, 4, EpochEnd::kShort));
  at_once.advance_to(14);
  EXPECT_EQ(at_once.save_state(), by_one.save_state());
  EXPECT_THROW(at_once.advance_to(15), std::invalid_argument) << "inside a batch";
  EXPECT_THROW(at_once.advance_to(10), std::invalid_argument) << "behind";
  EXPECT_EQ(at_once.save_state(), by_one.save_state());
}

TEST(Batches, WhatWasFetchedAndNotTrainedDoesNotCount) {
  Stream stream(of(10, 4, EpochEnd::kCarry));
  const StreamReader ahead = stream.reader();
  std::vector<Slot> slots(40);
  ahead.fill(0, slots);
  EXPECT_EQ(stream.cursor(), 0u);
  EXPECT_EQ(stream.take(0, 1), std::vector<Slot>(slots.begin(), slots.begin() + 4));
}

TEST(Batches, WeightsOfSharesSumToOne) {
  const SlotRange batch{100, 107};
  double sum = 0;
  for (std::uint32_t rank = 0; rank < 3; ++rank) sum += share_weight(batch, rank, 3);
  EXPECT_DOUBLE_EQ(sum, 1);
  EXPECT_DOUBLE_EQ(share_weight(batch, 0, 3), 2.0 / 7);
  EXPECT_DOUBLE_EQ(share_weight({0, 2}, 0, 3), 0) << "more ranks than slots";
  EXPECT_THROW(static_cast<void>(share_weight(batch, 3, 3)), std::invalid_argument);
}

TEST(Schedule, IsDueWhereAMultipleIsCrossed) {
  EXPECT_FALSE(crossed(0, 499, {500}));
  EXPECT_TRUE(crossed(499, 500, {500}));
  EXPECT_FALSE(crossed(500, 500, {500}));
  EXPECT_TRUE(crossed(0, 5000, {500})) << "once, however many";
  EXPECT_EQ(times_due(1499, {500}), 2u);
}

// A quarter of an epoch of ten samples is 2.5 slots: 2.5, 5, 7.5, 10, ... without drift.
TEST(Schedule, PeriodsMayBeFractions) {
  std::vector<std::uint64_t> due;
  for (std::uint64_t slot = 0; slot < 20; ++slot)
    if (crossed(slot, slot + 1, {.count = 10, .parts = 4})) due.push_back(slot + 1);
  EXPECT_THAT(due, ElementsAre(3, 5, 8, 10, 13, 15, 18, 20));
  EXPECT_EQ(times_due(std::uint64_t{1} << 62, {.count = 3, .parts = 3}), std::uint64_t{1} << 62);
  EXPECT_THROW(static_cast<void>(crossed(0, 1, {.count = 0})), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(crossed(0, 1, {.count = 1, .parts = 0})), std::invalid_argument);
}

// For every division of the steps into attempts, each multiple is met once.
TEST(Schedule, ARunThatWasResumedDoesItAtTheSameSteps) {
  const auto steps_due = [](std::uint64_t resumed_every) {
    std::vector<std::uint64_t> due;
    Stream stream(of(10, 3, EpochEnd::kCarry));
    for (std::uint64_t step = 1; step <= 40; ++step) {
      const std::uint64_t before = stream.cursor();
      stream.advance();
      if (crossed(before, stream.cursor(), {.count = stream.epoch_slots(), .parts = 2})) due.push_back(step);
      if (step % resumed_every != 0) continue;
      const std::string state = stream.save_state();
      stream = Stream(of(10, 3, EpochEnd::kCarry));
      stream.load_state(state);
    }
    return due;
  };
  EXPECT_EQ(steps_due(1), steps_due(1000));
  EXPECT_EQ(steps_due(7), steps_due(1000));
}

}  // namespace
}  // namespace ratoon::batches_test
