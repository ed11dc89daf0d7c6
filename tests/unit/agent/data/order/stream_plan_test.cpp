// Changes during a run: another batch, a skipped range, a start in the middle; and the samples of past
// batches.
#include <set>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/failure.h>
#include <ratoon/stream.h>

namespace ratoon::stream_plan_test {
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

// A run with bad data at batch 20 goes back to its checkpoint of batch 15 and skips the samples that it then
// saw.
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

StreamOptions dropping() {
  StreamOptions options = thousand();
  options.epoch_end = EpochEnd::kDrop;
  return options;
}

// Each way to a plan of the last change alone, with the state saved and loaded after every change.
TEST(Plan, OfSeveralChangesOfTheBatchOnlyTheLastOneCounts) {
  const auto after = [](const std::vector<std::uint64_t>& batches, std::uint64_t skipped_to) {
    Stream stream(dropping());
    stream.advance(95);
    if (skipped_to != 0) stream.skip_to(skipped_to);
    for (const std::uint64_t batch : batches) {
      stream.change_global_batch(batch);
      Stream again(dropping());
      again.load_state(stream.save_state());
      EXPECT_EQ(again.save_state(), stream.save_state());
      stream.load_state(again.save_state());
    }
    return stream;
  };
  EXPECT_EQ(after({60, 40}, 0).next_batch(), (SlotRange{950, 990})) << "60 passed over what 40 takes";
  for (const std::uint64_t skipped_to : {0, 955, 980, 991, 995, 1000, 1955}) {
    for (const std::uint64_t last : {1, 5, 10, 20, 40, 50, 51, 600}) {
      const Stream alone = after({last}, skipped_to);
      EXPECT_EQ(after({60, last}, skipped_to).save_state(), alone.save_state()) << skipped_to << " " << last;
      EXPECT_EQ(after({40, 60, 1000, last}, skipped_to).save_state(), alone.save_state());
      EXPECT_GE(alone.cursor(), skipped_to) << "a skip is not undone";
    }
  }
  EXPECT_EQ(after({60, 10}, 0).save_state(), after({}, 0).save_state()) << "back to what it was";
}

TEST(Plan, TheFirstSlotIsSettledAnewToo) {
  Stream stream(dropping());
  stream.begin_at(960, 96);
  stream.change_global_batch(60);
  EXPECT_EQ(stream.next_batch(), (SlotRange{1000, 1060}));
  Stream again(dropping());
  again.load_state(stream.save_state());
  again.change_global_batch(20);
  EXPECT_EQ(again.next_batch(), (SlotRange{960, 980}));

  StreamOptions reseeded = dropping();
  reseeded.seed = 7;
  Stream other(reseeded);
  other.accept({.seed = true});
  Stream before(dropping());
  before.advance(95);
  other.load_state(before.save_state());
  other.change_global_batch(60);
  EXPECT_EQ(other.first_known_slot(), 1000u);
  Stream next(reseeded);
  next.load_state(other.save_state());
  EXPECT_EQ(next.save_state(), other.save_state()) << "which can be read again";
}

TEST(Plan, ASlotThatWasAskedForFitsItsSegment) {
  Stream stream(dropping());
  stream.advance(95);
  stream.skip_to(995);
  const std::string good = stream.save_state();
  ASSERT_THAT(good,
              testing::HasSubstr(R"({"asked":995,"batch":95,"from":950,"global_batch":10,"start":1000})"));
  for (const std::string wrong : {"990", "949", "1001", "-1", "\"995\"", "4611686018427387905"}) {
    std::string bad = good;
    bad.replace(bad.find("995"), 3, wrong);
    Stream target(dropping());
    EXPECT_THROW(target.load_state(bad), Failure) << wrong;
  }
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
}  // namespace ratoon::stream_plan_test
