#include <functional>
#include <set>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/failure.h>
#include <ratoon/replica_subset.h>
#include <ratoon/stream.h>

namespace ratoon::replica_subset_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

ReplicaSubset subset(std::uint64_t samples, std::uint32_t rank, std::uint32_t world, double fraction) {
  return ReplicaSubset({.samples = samples, .rank = rank, .world_size = world, .fraction = fraction});
}

TEST(ReplicaSubset, IsAStretchThatGoesRoundBehindTheEnd) {
  EXPECT_THAT(subset(10, 0, 4, 0.4).ids(), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(subset(10, 1, 4, 0.4).ids(), ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(subset(10, 2, 4, 0.4).ids(), ElementsAre(5, 6, 7, 8));
  EXPECT_THAT(subset(10, 3, 4, 0.4).ids(), ElementsAre(7, 8, 9, 0));
}

// Checked by counting, for every size, world and size of subset.
TEST(ReplicaSubset, CoversAllFromAFractionOfOneWorldth) {
  for (std::uint64_t samples = 1; samples <= 40; ++samples) {
    for (std::uint32_t world = 1; world <= 9; ++world) {
      for (std::uint64_t held = 1; held <= samples; ++held) {
        const double fraction = static_cast<double>(held) / static_cast<double>(samples);
        for (const bool is_shuffled : {false, true}) {
          std::set<std::uint64_t> seen;
          bool says_all = false;
          for (std::uint32_t rank = 0; rank < world; ++rank) {
            ReplicaSubsetOptions options{
                .samples = samples, .rank = rank, .world_size = world, .fraction = fraction};
            if (is_shuffled) options.shuffle_seed = 3;
            const ReplicaSubset mine(options);
            const auto ids = mine.ids();
            ASSERT_EQ(ids.size(), held) << fraction << " of " << samples;
            ASSERT_EQ(std::set<std::uint64_t>(ids.begin(), ids.end()).size(), held) << "none twice";
            seen.insert(ids.begin(), ids.end());
            says_all = mine.covers_all();
          }
          ASSERT_LT(*seen.rbegin(), samples);
          ASSERT_EQ(says_all, seen.size() == samples) << held << " of " << samples << " on " << world;
          ASSERT_TRUE(says_all || held * world < samples) << "a fraction of one worldth is enough";
        }
      }
    }
  }
}

TEST(ReplicaSubset, OneWorldthIsEnoughWhateverTheRounding) {
  for (std::uint32_t world = 1; world <= 300; ++world) {
    for (const std::uint64_t samples : {1U, 7U, 300U, 49U * 98U, 1000003U, 60000U}) {
      const ReplicaSubset mine = subset(samples, 0, world, 1.0 / world);
      EXPECT_TRUE(mine.covers_all()) << samples << " on " << world;
      EXPECT_EQ(mine.size(), (samples + world - 1) / world) << "and no more than that";
    }
  }
}

// A billionth of this many samples is more than one sample.
TEST(ReplicaSubset, OneWorldthIsEnoughOfMoreSamplesThanAnyDataSetHas) {
  EXPECT_EQ(subset(1'999'999'999, 0, 3, 1.0 / 3).size(), 666'666'667U);
  for (const std::uint32_t world : {2U, 3U, 7U, 48U, 1000U, 4097U, 65535U}) {
    for (std::uint64_t samples = 1'000'000'007; samples < std::uint64_t{1} << 48; samples = samples * 3 + 1) {
      const ReplicaSubset mine = subset(samples, 0, world, 1.0 / world);
      ASSERT_TRUE(mine.covers_all()) << samples << " on " << world;
      ASSERT_LE(mine.size(), (samples + world - 1) / world + 1);
    }
  }
}

TEST(ReplicaSubset, ShufflingSpreadsNeighbours) {
  const ReplicaSubset mine(
      {.samples = 1000, .rank = 0, .world_size = 4, .fraction = 0.25, .shuffle_seed = 5});
  const auto ids = mine.ids();
  const std::uint64_t in_first_quarter =
      static_cast<std::uint64_t>(std::count_if(ids.begin(), ids.end(), [](auto id) { return id < 250; }));
  EXPECT_GT(in_first_quarter, 40U);
  EXPECT_LT(in_first_quarter, 85U);
  EXPECT_NE(ids,
            ReplicaSubset({.samples = 1000, .world_size = 4, .fraction = 0.25, .shuffle_seed = 6}).ids());
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

TEST(ReplicaSubset, SaysTheBytesBeforeAnythingIsLoaded) {
  const ReplicaSubset mine = subset(60000, 2, 8, 0.25);
  EXPECT_EQ(mine.bytes_needed(3072), 15000U * 3072);
  mine.check_fits(3072, 15000U * 3072);
  EXPECT_THAT(sentence_of([&] { mine.check_fits(3072, 15000U * 3072 / 2); }),
              AllOf(HasSubstr("rank 2 would hold 15000 samples of 3072 bytes, 46080000 in all"),
                    HasSubstr("23040000 are free"), HasSubstr("at most 0.125 instead of 0.25")));
  EXPECT_THROW(static_cast<void>(mine.bytes_needed(std::uint64_t{1} << 60)), std::overflow_error);
}

TEST(ReplicaSubset, EachRankHasAnInterruptibleOrderOfItsOwn) {
  const StreamOptions base{.global_batch = 4, .seed = 17, .source = "digits"};
  const ReplicaSubset mine = subset(100, 1, 4, 0.5);
  Stream stream(mine.stream(base));
  Stream other(subset(100, 2, 4, 0.5).stream(base));
  std::multiset<std::uint64_t> seen;
  for (int step = 0; step < 5; ++step) {
    for (const Slot& slot : stream.take(0, 1)) seen.insert(mine[slot.sample]);
  }
  Stream resumed(mine.stream(base));
  resumed.load_state(stream.save_state());
  while (seen.size() < 48) {
    for (const Slot& slot : resumed.take(0, 1)) seen.insert(mine[slot.sample]);
  }
  for (const Slot& slot : resumed.take(0, 1)) {
    if (slot.epoch == 0) seen.insert(mine[slot.sample]);
  }
  const auto ids = mine.ids();
  EXPECT_EQ(std::set<std::uint64_t>(seen.begin(), seen.end()),
            std::set<std::uint64_t>(ids.begin(), ids.end()));
  EXPECT_EQ(seen.size(), 50U) << "each once";
  EXPECT_NE(stream.at(0).sample * 50 + stream.at(1).sample, other.at(0).sample * 50 + other.at(1).sample)
      << "not the same order";
}

TEST(ReplicaSubset, TheStateOfAnotherRankWorldOrFractionIsRefused) {
  const StreamOptions base{.global_batch = 4, .seed = 17, .source = "digits"};
  const std::string state = Stream(subset(100, 1, 4, 1).stream(base)).save_state();
  const auto load = [&](const ReplicaSubset& into) {
    Stream stream(into.stream(base));
    return sentence_of([&] { stream.load_state(state); });
  };
  EXPECT_THAT(load(subset(100, 2, 4, 1)), AllOf(HasSubstr("digits rank 1 of 4 holds 1 of 100"),
                                                HasSubstr("digits rank 2 of 4 holds 1 of 100")));
  EXPECT_THAT(load(subset(100, 1, 5, 1)), HasSubstr("rank 1 of 5"));
  EXPECT_THAT(load(subset(100, 1, 4, 0.995)), HasSubstr("holds 0.995"));
  EXPECT_THAT(load(ReplicaSubset({.samples = 100, .rank = 1, .world_size = 4, .shuffle_seed = 9})),
              HasSubstr("shuffled by 9"));
}

TEST(ReplicaSubset, RefusesOptionsThatMakeNone) {
  EXPECT_THROW(subset(0, 0, 1, 1), std::invalid_argument);
  EXPECT_THROW(subset(10, 1, 1, 1), std::invalid_argument);
  EXPECT_THROW(subset(10, 0, 0, 1), std::invalid_argument);
  EXPECT_THROW(subset(10, 0, 1, 0), std::invalid_argument);
  EXPECT_THROW(subset(10, 0, 1, 1.5), std::invalid_argument);
  EXPECT_THROW(subset(10, 0, 1, std::numeric_limits<double>::quiet_NaN()), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(subset(10, 0, 2, 0.5)[5]), std::out_of_range);
}

}  // namespace
}  // namespace ratoon::replica_subset_test
