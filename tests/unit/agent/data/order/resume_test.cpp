// Faults of other loaders when a run went on from its state; each test names the report.
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/stream.h>

namespace ratoon::resume_test {
namespace {

StreamOptions digits() {
  return {.samples = 97, .global_batch = 8, .seed = 11, .source = "digits"};
}

StreamOptions mixture() {
  return {.global_batch = 8,
          .seed = 11,
          .sources = {{.name = "a", .samples = 50, .weight = 2}, {.name = "b", .samples = 7, .weight = 1}}};
}

std::vector<Slot> take_batches(Stream& stream, int batches) {
  std::vector<Slot> slots;
  for (int k = 0; k < batches; ++k)
    for (const Slot& slot : stream.take(0, 1)) slots.push_back(slot);
  return slots;
}

Stream resumed(const StreamOptions& options, const std::string& state) {
  Stream stream(options);
  stream.load_state(state);
  return stream;
}

// mosaicml/streaming 437 and 880: the state existed, and the run began at 0.
TEST(Resume, ALoadOnAStreamThatHasTakenBatchesTakesEffect) {
  Stream source(digits());
  take_batches(source, 5);
  Stream live(digits());
  take_batches(live, 9);
  live.load_state(source.save_state());
  EXPECT_EQ(live.save_state(), source.save_state());
  EXPECT_EQ(take_batches(live, 3), take_batches(source, 3));
}

TEST(Resume, TheSecondOfTwoLoadsCounts) {
  Stream stream(digits());
  take_batches(stream, 2);
  const std::string early = stream.save_state();
  take_batches(stream, 20);
  const std::string late = stream.save_state();
  Stream twice = resumed(digits(), late);
  twice.load_state(early);
  EXPECT_EQ(twice.save_state(), early);
  twice.load_state(late);
  EXPECT_EQ(twice.save_state(), late);
}

// mosaicml/streaming 869: resuming beyond the first epoch failed with weights.
TEST(Resume, BeyondTheFirstEpochOfAMixture) {
  Stream unbroken(mixture());
  take_batches(unbroken, 40);
  EXPECT_GT(unbroken.at(unbroken.cursor()).epoch, 1u);
  Stream again = resumed(mixture(), unbroken.save_state());
  EXPECT_EQ(take_batches(again, 40), take_batches(unbroken, 40));
  EXPECT_EQ(again.save_state(), unbroken.save_state());
}

// mosaicml/composer 3725: runs that were resumed several times diverged. huggingface/datasets 8308: the state
// stood still after the first resume. KempnerForge 57: the second resume in one epoch was wrong.
TEST(Resume, AnyNumberOfTimesInOneEpoch) {
  for (const StreamOptions& options : {digits(), mixture()}) {
    Stream unbroken(options);
    std::string state = unbroken.save_state();
    std::set<std::string> states;
    for (int k = 0; k < 30; ++k) {
      Stream again = resumed(options, state);
      ASSERT_EQ(take_batches(again, 1), take_batches(unbroken, 1)) << "batch " << k;
      state = again.save_state();
      ASSERT_EQ(state, unbroken.save_state());
      ASSERT_TRUE(states.insert(state).second) << "it stands still";
    }
  }
}

// meta-pytorch/data 1437: the state that was saved after a load differed from the loaded one, and could drop
// an epoch.
TEST(Resume, WhatIsSavedAfterALoadIsWhatWasLoaded) {
  for (const EpochEnd epoch_end : {EpochEnd::kCarry, EpochEnd::kShort, EpochEnd::kDrop}) {
    for (const std::uint64_t samples : {96u, 97u}) {  // 96: the end of an epoch is the end of a batch
      StreamOptions options = digits();
      options.samples = samples;
      options.epoch_end = epoch_end;
      Stream stream(options);
      for (int k = 0; k < 40; ++k) {
        ASSERT_EQ(resumed(options, stream.save_state()).save_state(), stream.save_state()) << "batch " << k;
        stream.advance();
      }
    }
  }
}

// meta-pytorch/data 1513: the epoch was not in the state. accelerate 2823: it began again at 0.
TEST(Resume, TheEpochIsInTheState) {
  Stream stream(digits());
  take_batches(stream, 50);
  const Stream again = resumed(digits(), stream.save_state());
  EXPECT_EQ(again.epoch(), 4u);
  EXPECT_EQ(again.index_in_epoch(), 400u - 4 * 97);
}

// meta-pytorch/data 1520: prefetched samples were lost; litData 649: after an early break too.
TEST(Resume, WhatWasFetchedAheadComesAgain) {
  Stream stream(digits());
  take_batches(stream, 3);
  std::vector<Slot> ahead(64);
  stream.reader().fill(stream.cursor(), ahead);
  Stream again = resumed(digits(), stream.save_state());
  EXPECT_EQ(take_batches(again, 8), ahead);
}

// litData 760 and 770: a loop that was left early and entered again began anew.
TEST(Resume, ALoopThatWasLeftEarlyGoesOn) {
  Stream stream(digits());
  std::vector<Slot> seen;
  for (int k = 0; k < 20; ++k) {
    for (const Slot& slot : stream.take(0, 1)) seen.push_back(slot);
    if (k == 7) break;
  }
  for (const Slot& slot : take_batches(stream, 12)) seen.push_back(slot);
  Stream unbroken(digits());
  EXPECT_EQ(seen, take_batches(unbroken, 20));
}

// wyim-pgl/transgenic 59: the rest of the epoch was shuffled anew; of 20 samples 15 came twice and 15 never.
// pytorch/pytorch 147967: the order depended on where it began.
TEST(Resume, TheRestOfAnEpochIsWhatIsLeftOfIt) {
  for (std::uint64_t stop = 1; stop < 20; ++stop) {
    const StreamOptions options{.samples = 20, .global_batch = 1, .seed = stop, .source = "x"};
    Stream stream(options);
    std::multiset<std::uint64_t> seen;
    for (const Slot& slot : take_batches(stream, static_cast<int>(stop))) seen.insert(slot.sample);
    Stream again = resumed(options, stream.save_state());
    for (const Slot& slot : take_batches(again, static_cast<int>(20 - stop))) seen.insert(slot.sample);
    ASSERT_EQ(std::set<std::uint64_t>(seen.begin(), seen.end()).size(), 20u);
    ASSERT_EQ(seen.size(), 20u);
  }
}

// NVIDIA/Megatron-LM 7299: ranks advanced by different amounts where the tail was uneven.
// ai-hypercomputer/maxtext 1760: the number of processes had to be the same.
TEST(Resume, RanksAgreeAfterAnUnevenTail) {
  for (const std::uint64_t samples : {1u, 5u, 17u, 64u}) {
    for (const std::uint64_t batch : {1u, 6u, 7u, 40u}) {
      for (const EpochEnd epoch_end : {EpochEnd::kCarry, EpochEnd::kShort}) {
        StreamOptions options = digits();
        options.samples = samples;
        options.global_batch = batch;
        options.epoch_end = epoch_end;
        Stream alone(options);
        for (std::uint32_t world : {1u, 2u, 3u, 5u, 64u}) {
          const std::string state = alone.save_state();
          const std::vector<Slot> whole = alone.take(0, 1);
          std::vector<Slot> parts;
          for (std::uint32_t rank = 0; rank < world; ++rank) {
            Stream stream = resumed(options, state);
            for (const Slot& slot : stream.take(rank, world)) parts.push_back(slot);
            ASSERT_EQ(stream.save_state(), alone.save_state()) << "rank " << rank << " of " << world;
          }
          ASSERT_EQ(parts, whole);
        }
      }
    }
  }
}

// Megatron-Bridge 5637: the state of a rank that left was dropped. SimpleTuner 2986: only rank 0 had saved
// its own, and the others went on from it.
TEST(Resume, TheStateOfAnyRankIsTheStateOfAll) {
  std::set<std::string> states;
  for (std::uint32_t rank = 0; rank < 5; ++rank) {
    Stream stream(digits());
    for (int k = 0; k < 4; ++k) static_cast<void>(stream.take(rank, 5));
    states.insert(stream.save_state());
  }
  EXPECT_EQ(states.size(), 1u);
}

// cycling_utils' sampler, and rosinality/stylegan2 319: every epoch had the order of the first one.
TEST(Resume, EveryEpochHasItsOwnOrderWithoutBeingTold) {
  Stream stream({.samples = 50, .global_batch = 50, .seed = 1, .source = "x"});
  std::set<std::vector<std::uint64_t>> orders;
  for (int epoch = 0; epoch < 20; ++epoch) {
    std::vector<std::uint64_t> order;
    for (const Slot& slot : stream.take(0, 1)) order.push_back(slot.sample);
    orders.insert(order);
    stream = resumed({.samples = 50, .global_batch = 50, .seed = 1, .source = "x"}, stream.save_state());
  }
  EXPECT_EQ(orders.size(), 20u);
}

// Grain and DistributedSampler add the epoch to the seed: one seed's next epoch is another seed's first.
TEST(Resume, TheNextEpochIsNotTheNextSeed) {
  const auto order = [](std::uint64_t seed, std::uint64_t epoch) {
    const Stream stream({.samples = 100, .global_batch = 1, .seed = seed, .source = "x"});
    std::vector<Slot> slots(100);
    stream.reader().fill(epoch * 100, slots);
    std::vector<std::uint64_t> samples;
    for (const Slot& slot : slots) samples.push_back(slot.sample);
    return samples;
  };
  EXPECT_NE(order(5, 1), order(6, 0));
  EXPECT_NE(order(5, 0), order(6, 1));
}

// huggingface/accelerate PR 4071: an order drawn from a generator that other code had advanced.
TEST(Resume, TheOrderHangsOnNothingButTheOptions) {
  Stream stream(digits());
  const StreamReader reader = stream.reader();
  static_cast<void>(reader.at(5000));
  static_cast<void>(reader.slot_of(0, 30, 4));
  take_batches(stream, 3);
  EXPECT_EQ(reader.at(24), Stream(digits()).at(24));
}

TEST(Resume, AProgramThatChangesItsPlanOnTheWayIsUnderstood) {
  Stream unbroken(digits());
  std::string state = unbroken.save_state();
  for (std::uint64_t step = 0; step < 60; ++step) {
    Stream again = resumed(digits(), state);  // every step in a process of its own
    for (Stream* stream : {&unbroken, &again}) {
      if (step == 20) stream->change_global_batch(16);
      if (step == 30) stream->skip_to(stream->cursor() + 100);
      if (step == 40) stream->change_global_batch(8);
    }
    ASSERT_EQ(take_batches(again, 1), take_batches(unbroken, 1)) << "step " << step;
    state = again.save_state();
    ASSERT_EQ(state, unbroken.save_state());
  }
}

// mosaicml/streaming 437 and 880 again: the state is loaded into one stream, and another one is used for
// training.
class UnusedLoad : public testing::Test {
 protected:
  UnusedLoad() {
    Stream stream(digits());
    static_cast<void>(take_batches(stream, 5));
    state_ = stream.save_state();
  }
  static std::string said_by(const std::function<void()>& program) {
    testing::internal::CaptureStderr();
    program();
    return testing::internal::GetCapturedStderr();
  }

  std::string state_;
};

TEST_F(UnusedLoad, IsSaidOnceWhereAnotherStreamIsTrainedWith) {
  const std::string said = said_by([&] {
    const Stream loaded = resumed(digits(), state_);
    Stream other(digits());
    static_cast<void>(take_batches(other, 3));
    EXPECT_EQ(loaded.cursor(), 40u) << "looking where it stands is no use";
    EXPECT_EQ(loaded.save_state(), state_);
  });
  EXPECT_THAT(said, testing::HasSubstr("the state of a sample stream was loaded and never used"));
  EXPECT_THAT(said, testing::HasSubstr("slot=40 batches=5 source=digits"));
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1);
}

TEST_F(UnusedLoad, IsSaidOfALoadThatAnotherOneReplaces) {
  const std::string said = said_by([&] {
    Stream loaded = resumed(digits(), state_);
    Stream other(digits());
    static_cast<void>(take_batches(other, 1));
    loaded.load_state(state_);
    static_cast<void>(take_batches(loaded, 1));
  });
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
}

TEST_F(UnusedLoad, NothingIsSaidOfOneThatIsUsedInAnyWay) {
  const std::vector<std::function<void(Stream&)>> uses = {
      [](Stream& stream) { static_cast<void>(stream.take(0, 1)); },
      [](Stream& stream) { static_cast<void>(stream.next_batch()); },
      [](Stream& stream) { stream.advance(); },
      [](Stream& stream) { static_cast<void>(stream.reader()); },
      [](Stream& stream) { static_cast<void>(stream.at(7)); },
      [](Stream& stream) { static_cast<void>(Stream(stream).take(0, 1)); },  // a copy
  };
  for (std::size_t i = 0; i < uses.size(); ++i) {
    EXPECT_EQ(said_by([&] {
                Stream loaded = resumed(digits(), state_);
                Stream other(digits());
                static_cast<void>(take_batches(other, 1));
                uses[i](loaded);
              }),
              "")
        << "use " << i;
  }
}

TEST_F(UnusedLoad, NothingIsSaidOfARunThatIsOver) {
  EXPECT_EQ(said_by([&] { const Stream loaded = resumed(digits(), state_); }), "");
  EXPECT_EQ(said_by([&] {
              const Stream loaded = resumed(digits(), state_);
              Stream validation({.samples = 10, .global_batch = 2, .source = "held out"});
              static_cast<void>(take_batches(validation, 5));
            }),
            "");
}

}  // namespace
}  // namespace ratoon::resume_test
