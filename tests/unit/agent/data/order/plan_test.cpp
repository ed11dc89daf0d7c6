// Changes on the way: another batch, a range that is skipped, a start in the middle; and what past batches
// took.
#include <set>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/failure.h>
#include <ratoon/stream.h>

namespace ratoon {
namespace {

using testing::ElementsAre;

StreamOptions thousand() {
  return {.samples = 1000, .global_batch = 10, .seed = 2, .source = "s"};
}

Stream reloaded(const Stream& stream) {
  Stream again(thousand());
  again.load_state(stream.save_state());
  EXPECT_EQ(again.save_state(), stream.save_state());
  return again;
}

TEST(Plan, TheBatchMayGrowInTheMiddleOfAnEpoch) {
  Stream stream(thousand());
  stream.advance(7);
  stream.change_global_batch(64);
  EXPECT_EQ(stream.next_batch(), (SlotRange{70, 134}));
  stream.advance(2);
  stream.change_global_batch(3);
  stream.advance(1);
  EXPECT_EQ(stream.cursor(), 201u);
  const Stream again = reloaded(stream);
  EXPECT_EQ(again.global_batch(), 3u);
  EXPECT_EQ(again.reader().batch(6), (SlotRange{60, 70})) << "what past batches took stays known";
  EXPECT_EQ(again.reader().batch(8), (SlotRange{134, 198}));
  EXPECT_EQ(again.reader().batch(9), (SlotRange{198, 201}));
  EXPECT_EQ(again.reader().batch(10), (SlotRange{201, 204}));
  EXPECT_EQ(again.reader().batch_with(133), 7u);
  EXPECT_EQ(again.reader().batches_until(134), 8u);
  EXPECT_EQ(again.digest(), [] {
    Stream plain(thousand());
    plain.change_global_batch(201);
    plain.advance();
    return plain.digest();
  }()) << "the same samples, however they were cut";
}

TEST(Plan, WhatIsSkippedIsNeverTakenAndAccountedApart) {
  Stream stream(thousand());
  stream.advance(5);
  stream.skip_to(123);
  EXPECT_EQ(stream.cursor(), 123u);
  stream.advance(4);
  Stream again = reloaded(stream);
  EXPECT_EQ(again.reader().batch(4), (SlotRange{40, 50}));
  EXPECT_EQ(again.reader().batch(5), (SlotRange{123, 133}));
  EXPECT_EQ(again.reader().batch_with(49), 4u);
  EXPECT_EQ(again.reader().batch_with(50), std::nullopt);
  EXPECT_EQ(again.reader().batch_with(122), std::nullopt);
  EXPECT_EQ(again.reader().batch_with(123), 5u);
  EXPECT_EQ(again.reader().batches_until(100), 5u);
  EXPECT_THAT(again.accounts(),
              ElementsAre(SourceAccount{.drawn = 90, .skipped = 73, .epochs = 0, .rest = 90}));
  EXPECT_THROW(again.skip_to(1), std::invalid_argument);
  again.skip_to(again.cursor());
  EXPECT_EQ(again.save_state(), stream.save_state()) << "nothing to skip is no change";
}

// A run that went wrong at batch 20 goes back to its checkpoint of batch 15 and passes over what it then saw.
TEST(Plan, ALossSpikeIsRolledBackAndSkipped) {
  Stream stream(thousand());
  stream.advance(15);
  const std::string good = stream.save_state();
  stream.advance(10);
  const std::uint64_t end_of_harm = stream.reader().batch(24).last;
  stream.load_state(good);
  stream.skip_to(end_of_harm);
  std::set<std::uint64_t> seen;
  for (int k = 0; k < 75; ++k)
    for (const Slot& slot : stream.take(0, 1)) seen.insert(slot.sample);
  EXPECT_EQ(seen.size(), 750u);
  for (std::uint64_t slot = 150; slot < 250; ++slot) EXPECT_FALSE(seen.contains(stream.at(slot).sample));
}

TEST(Plan, SkippedSamplesDoNotEnterTheDigest) {
  Stream a(thousand());
  a.advance(5);
  const std::uint64_t before = a.digest();
  a.skip_to(700);
  EXPECT_EQ(a.digest(), before);
  Stream b(thousand());
  b.advance(6);
  a.advance(1);
  EXPECT_NE(a.digest(), b.digest());
}

TEST(Plan, ChangesThatTookNoBatchAreOne) {
  Stream stream(thousand());
  stream.change_global_batch(20);
  stream.change_global_batch(30);
  stream.change_global_batch(10);
  EXPECT_EQ(stream.save_state(), Stream(thousand()).save_state());
  stream.advance();
  stream.change_global_batch(20);
  stream.change_global_batch(20);
  stream.change_global_batch(40);
  stream.skip_to(100);
  stream.change_global_batch(50);
  EXPECT_EQ(stream.next_batch(), (SlotRange{100, 150}));
  static_cast<void>(reloaded(stream));
}

TEST(Plan, ADroppedTailIsFoundAnewForEachBatch) {
  StreamOptions options = thousand();
  options.epoch_end = EpochEnd::kDrop;
  Stream stream(options);
  stream.advance(95);
  stream.change_global_batch(40);
  EXPECT_EQ(stream.next_batch(), (SlotRange{950, 990}));
  stream.change_global_batch(60);
  EXPECT_EQ(stream.next_batch(), (SlotRange{1000, 1060})) << "the 50 that are left fill none";
  stream.advance(16);
  EXPECT_EQ(stream.cursor(), 2000u);
  EXPECT_THAT(stream.accounts(),
              ElementsAre(SourceAccount{.drawn = 1910, .skipped = 90, .epochs = 1, .rest = 910}));
  EXPECT_EQ(stream.reader().batch_with(949), 94u);
  EXPECT_EQ(stream.reader().batch_with(950), std::nullopt);
  Stream again(options);
  again.load_state(stream.save_state());
  EXPECT_EQ(again.save_state(), stream.save_state());
}

TEST(Plan, ARunOfSomethingElseGoesOnHere) {
  Stream stream(thousand());
  stream.begin_at(4321, 400);
  EXPECT_EQ(stream.batches(), 400u);
  EXPECT_EQ(stream.take(0, 1).front(), Stream(thousand()).at(4321));
  EXPECT_EQ(stream.reader().batch(401), (SlotRange{4331, 4341}));
  EXPECT_THROW(static_cast<void>(stream.reader().batch(399)), std::out_of_range) << "not ours";
  EXPECT_EQ(stream.reader().batch_with(4320), std::nullopt);
  EXPECT_THAT(stream.accounts(),
              ElementsAre(SourceAccount{.drawn = 4331, .skipped = 0, .epochs = 4, .rest = 331}));
  EXPECT_THROW(stream.begin_at(1, 1), std::invalid_argument) << "it has begun";
  static_cast<void>(reloaded(stream));
}

// As many changes as a state keeps, and one more.
TEST(Plan, TooManyChangesAreRefusedAndChangeNothing) {
  Stream stream(thousand());
  for (std::uint64_t change = 1; change < 1024; ++change) {
    stream.advance();
    stream.change_global_batch(10 + change % 2);
  }
  const Stream again = reloaded(stream);
  stream.advance();
  const std::string state = stream.save_state();
  EXPECT_THROW(stream.change_global_batch(99), Failure);
  EXPECT_THROW(stream.skip_to(stream.cursor() + 1), Failure);
  EXPECT_EQ(stream.save_state(), state);
  for (std::uint64_t k = 0; k < stream.batches(); ++k)
    ASSERT_EQ(stream.reader().batch_with(stream.reader().batch(k).first), k);
}

TEST(Plan, AReaderKnowsThePlanAsItWas) {
  Stream stream(thousand());
  const StreamReader before = stream.reader();
  stream.change_global_batch(50);
  EXPECT_EQ(before.batch(0).size(), 10u);
  EXPECT_EQ(stream.reader().batch(0).size(), 50u);
}

}  // namespace
}  // namespace ratoon
