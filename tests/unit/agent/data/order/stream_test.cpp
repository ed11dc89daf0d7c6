#include <functional>
#include <set>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/failure.h>
#include <ratoon/stream.h>

#include "tests/support/damaged_state.h"

namespace ratoon::stream_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

StreamOptions ten() {
  return {.samples = 10, .global_batch = 4, .seed = 0, .source = ""};
}

std::vector<std::uint64_t> samples_of(const std::vector<Slot>& slots) {
  std::vector<std::uint64_t> samples;
  for (const Slot& slot : slots) samples.push_back(slot.sample);
  return samples;
}

// The samples that all ranks together take in one step, in the order of slots; the streams of all ranks
// advance.
std::vector<Slot> take_of_all(std::vector<Stream>& streams) {
  std::vector<Slot> slots;
  for (std::uint32_t rank = 0; rank < streams.size(); ++rank) {
    const auto mine = streams[rank].take(rank, static_cast<std::uint32_t>(streams.size()));
    slots.insert(slots.end(), mine.begin(), mine.end());
  }
  return slots;
}

std::string sentence_of(const std::function<void()>& function) {
  try {
    function();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.exit_code, 82);
    return failure.what();
  }
  return "no Failure was thrown";
}

// Frozen values, as those of Permutation.
TEST(StreamVectors, TwoEpochsAndABit) {
  Stream stream(ten());
  std::vector<std::uint64_t> samples;
  for (int step = 0; step < 6; ++step) {
    for (const std::uint64_t sample : samples_of(stream.take(0, 1))) samples.push_back(sample);
  }
  EXPECT_THAT(samples, ElementsAre(1, 0, 3, 4, 9, 6, 7, 2, 5, 8,  //
                                   3, 8, 9, 0, 2, 1, 5, 4, 7, 6,  //
                                   7, 6, 8, 5));
  EXPECT_EQ(stream.cursor(), 24u);
  EXPECT_EQ(stream.digest(), 0x8ef7987576318728u);
  EXPECT_EQ(stream.save_state(),
            R"({"batches":6,"cursor":24,"digest":"8ef7987576318728","epoch_end":"carry","format":2,)"
            R"("global_batch":4,"order":"feistel-1","seed":0,)"
            R"("segments":[{"batch":0,"from":0,"global_batch":4,"start":0}],)"
            R"("sources":{"digest":"c1b42df18198b0a5","names":[""],"samples":[10],"weights":[65536]},)"
            R"("state_digest":"5ec08f33ecf84410"})");
}

TEST(Stream, ABatchReachesOverTheEndOfAnEpoch) {
  Stream stream(ten());
  for (int step = 0; step < 2; ++step) static_cast<void>(stream.take(0, 1));
  EXPECT_THAT(stream.take(0, 1),
              ElementsAre(Slot{8, 0, 0, 5}, Slot{9, 0, 0, 8}, Slot{10, 1, 0, 3}, Slot{11, 1, 0, 8}));
}

TEST(Stream, RanksShareABatchWithoutGapOrOverlap) {
  for (std::uint32_t world = 1; world <= 9; ++world) {
    for (const std::uint64_t batch : {1u, 4u, 7u, 64u}) {
      StreamOptions options = ten();
      options.samples = 37;
      options.global_batch = batch;
      Stream alone(options);
      std::vector<Stream> streams(world, Stream(options));
      for (int step = 0; step < 20; ++step)
        ASSERT_EQ(take_of_all(streams), alone.take(0, 1)) << world << " ranks, batch " << batch;
      for (const Stream& stream : streams) EXPECT_EQ(stream.digest(), alone.digest());
    }
  }
}

TEST(Stream, SharesDifferByOneAtMost) {
  for (std::uint32_t world = 1; world <= 9; ++world) {
    std::set<std::uint64_t> sizes;
    for (std::uint32_t rank = 0; rank < world; ++rank) {
      sizes.insert(share_of({100, 123}, rank, world).size());
    }
    EXPECT_LE(*sizes.rbegin() - *sizes.begin(), 1u);
  }
  EXPECT_EQ(share_of({0, ~0ULL}, 8, 9).last, ~0ULL) << "without overflow";
}

TEST(Stream, ResumedAtAnyStepItGoesOnAsIfUnbroken) {
  Stream unbroken(ten());
  for (int step = 0; step < 30; ++step) {
    Stream resumed(ten());
    resumed.load_state(unbroken.save_state());
    Stream copy = unbroken;
    for (int more = 0; more < 8; ++more)
      ASSERT_EQ(resumed.take(0, 1), copy.take(0, 1)) << "from step " << step;
    EXPECT_EQ(resumed.save_state(), copy.save_state());
    static_cast<void>(unbroken.take(0, 1));
  }
}

TEST(Stream, AResizeInTheMiddleOfAnEpochLosesAndRepeatsNothing) {
  StreamOptions options = ten();
  options.samples = 60;
  std::string state = Stream(options).save_state();
  std::multiset<std::uint64_t> seen;
  for (const std::uint32_t world :
       {3u, 5u, 1u, 4u, 2u}) {  // three steps each, in a world of another size each
    std::vector<Stream> streams(world, Stream(options));
    for (Stream& stream : streams) stream.load_state(state);
    for (int step = 0; step < 3; ++step) {
      for (const Slot& slot : take_of_all(streams)) seen.insert(slot.sample);
    }
    state = streams.back().save_state();
  }
  EXPECT_EQ(seen.size(), 60u);
  EXPECT_EQ(std::set<std::uint64_t>(seen.begin(), seen.end()).size(), 60u) << "each sample once";
}

TEST(Stream, SaysWhenASampleIsSeen) {
  const Stream stream(ten());
  for (std::uint64_t number = 0; number < 50; ++number) {
    const Slot slot = stream.at(number);
    EXPECT_EQ(stream.slot_of(slot.epoch, slot.sample), number);
  }
}

TEST(Stream, RefusesTheStateOfAnotherStreamWithBothValues) {
  const std::string state = Stream(ten()).save_state();
  const struct {
    const char* sentence;
    StreamOptions options;
  } cases[] = {
      {"the number of samples is 10, but in the program it is 11", {.samples = 11, .global_batch = 4}},
      {"the global batch is 4, but in the program it is 8", {.samples = 10, .global_batch = 8}},
      {"the seed is 0, but in the program it is 1", {.samples = 10, .global_batch = 4, .seed = 1}},
      {"the source is '', but in the program it is 'web'",
       {.samples = 10, .global_batch = 4, .source = "web"}},
  };
  for (const auto& c : cases) {
    Stream stream(c.options);
    EXPECT_THAT(sentence_of([&] { stream.load_state(state); }), HasSubstr(c.sentence));
    EXPECT_EQ(stream.cursor(), 0u) << "nothing is taken over";
  }
}

TEST(Stream, RefusesWhatIsNoState) {
  const std::string good = test::of_format_1(Stream(ten()).save_state());
  const auto with = [&good](const std::string& from, const std::string& to) {
    return std::string(good).replace(good.find(from), from.size(), to);
  };
  const struct {
    std::string state;
    const char* sentence;
  } cases[] = {
      {"", "cannot be read"},
      {"[]", "cannot be read"},
      {with("\"format\":1", "\"format\":3"), "a newer version of Ratoon wrote this"},
      {with("feistel-1", "feistel-2"),
       "the order is feistel-2, epoch end carry, but in the program it is feistel-1"},
      {with("\"cursor\":0", "\"cursor\":-1"), "stream.cursor"},
      {with("\"digest\":\"0", "\"digest\":\"z"), "16 hexadecimal digits"},
      {with("\"start\":0", "\"start\":4"), "does not follow"},
      {with("\"segments\":[{", "\"segment\":[{"), "no digest, and it has an unknown field"},
  };
  for (const auto& c : cases) {
    Stream stream(ten());
    EXPECT_THAT(sentence_of([&] { stream.load_state(c.state); }),
                AllOf(HasSubstr("the state of the sample stream"), HasSubstr(c.sentence)))
        << c.state;
  }
}

TEST(Stream, RefusesOptionsThatMakeNoStream) {
  EXPECT_THROW(Stream({.samples = 0, .global_batch = 4}), std::invalid_argument);
  EXPECT_THROW(Stream({.samples = 10, .global_batch = 0}), std::invalid_argument);
  EXPECT_THROW(Stream({.samples = 10, .global_batch = 4, .source = "\n"}), std::invalid_argument);
  Stream stream(ten());
  EXPECT_THROW(static_cast<void>(stream.take(3, 3)), std::invalid_argument);
}

}  // namespace
}  // namespace ratoon::stream_test
