#include "agent/src/session/hang.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ratoon::session {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

Timestamp at(Duration d) {
  return {.since_boot = d};
}

// Steps of `each`, from 0 on; stands in the collective of the last one when it returns.
Timestamp train(PhaseWatch& watch, int steps, Duration each, Timestamp from) {
  for (int i = 0; i < steps; ++i) {
    watch.enter(ProcessPhase::kCompute, from);
    watch.enter(ProcessPhase::kCollective, from + each);
    from = from + each;
  }
  return from;
}

TEST(PhaseWatch, LearnsTenTimesTheMedianAndAtLeastHalfAMinute) {
  PhaseWatch watch({}, at(0s));
  EXPECT_EQ(watch.allowed(ProcessPhase::kCompute), 10min);
  Timestamp moment = train(watch, 4, 100ms, at(0s));
  EXPECT_EQ(watch.allowed(ProcessPhase::kCompute), 10min);
  moment = train(watch, 1, 100ms, moment);
  EXPECT_EQ(watch.allowed(ProcessPhase::kCompute), 30s);
  moment = train(watch, 40, 12s, moment);
  EXPECT_EQ(watch.allowed(ProcessPhase::kCompute), 120s);
  // What was long ago is forgotten; what is rare does not count.
  moment = train(watch, 20, 5s, moment);
  train(watch, 1, 1h, moment);
  EXPECT_EQ(watch.allowed(ProcessPhase::kCompute), 50s);
  EXPECT_EQ(watch.allowed(ProcessPhase::kSave), 10min);  // of this it saw none
}

TEST(PhaseWatch, IsOverdueAfterThat) {
  PhaseWatch watch({}, at(0s));
  EXPECT_FALSE(watch.is_overdue(at(10h)));  // waits for a world
  const Timestamp moment = train(watch, 10, 1s, at(0s));
  watch.enter(ProcessPhase::kCompute, moment);
  EXPECT_EQ(watch.phase(), ProcessPhase::kCompute);
  EXPECT_EQ(watch.in_phase(moment + 7s), 7s);
  EXPECT_FALSE(watch.is_overdue(moment + 30s));
  EXPECT_TRUE(watch.is_overdue(moment + 30s + 1ns));
}

TEST(PhaseWatch, ASignOfLifeBeginsAnew) {
  PhaseWatch watch({}, at(0s));
  const Timestamp moment = train(watch, 10, 1s, at(0s));
  watch.enter(ProcessPhase::kCompute, moment);
  watch.still_alive(moment + 25s);
  EXPECT_FALSE(watch.is_overdue(moment + 55s));
  EXPECT_TRUE(watch.is_overdue(moment + 56s));
  watch.still_alive(moment + 20s);  // late news is no news
  EXPECT_TRUE(watch.is_overdue(moment + 56s));
}

TEST(PhaseWatch, WhatIsSaidOutweighsWhatIsLearned) {
  PhaseWatch watch(
      {.at_least = 5s, .times_median = 3, .unlearned = 20s, .fixed = {{ProcessPhase::kValidate, 2h}}},
      at(0s));
  EXPECT_EQ(watch.allowed(ProcessPhase::kValidate), 2h);
  EXPECT_EQ(watch.allowed(ProcessPhase::kUser), 20s);
  train(watch, 10, 4s, at(0s));
  EXPECT_EQ(watch.allowed(ProcessPhase::kCompute), 12s);
}

RankPhase rank(std::uint32_t number, ProcessPhase phase, Duration in_phase, std::uint64_t step = 7) {
  return {.rank = Rank(number), .step = Step(step), .phase = phase, .in_phase = in_phase, .allowed = 30s};
}
std::optional<std::vector<Rank>> culprits(const std::vector<RankPhase>& ranks) {
  const auto hang = find_hang(ranks);
  return hang ? std::optional(hang->culprits) : std::nullopt;
}

TEST(Hang, TheCulpritIsNotInTheCollective) {
  for (const auto phase :
       {ProcessPhase::kData, ProcessPhase::kCompute, ProcessPhase::kSave, ProcessPhase::kUser}) {
    const auto found = culprits({rank(0, ProcessPhase::kCollective, 90s),
                                 rank(1, ProcessPhase::kCollective, 91s), rank(2, phase, 91s)});
    ASSERT_TRUE(found);
    EXPECT_THAT(*found, ElementsAre(Rank(2)));
  }
}

TEST(Hang, WhoMayStillTakeItsTimeIsWaitedFor) {
  RankPhase validates = rank(2, ProcessPhase::kValidate, 300s);
  validates.allowed = 2h;
  EXPECT_EQ(culprits({rank(0, ProcessPhase::kCollective, 290s), validates}), std::nullopt);
  RankPhase joins = rank(2, ProcessPhase::kJoining, 300s);
  joins.allowed = std::nullopt;
  EXPECT_EQ(culprits({rank(0, ProcessPhase::kCollective, 290s), joins}), std::nullopt);
}

TEST(Hang, WhereAllAreInACollectiveTheOneBehindIsToBlameOrNobody) {
  const auto waits = [](std::uint32_t number, Duration in_phase, std::uint64_t step) {
    return rank(number, ProcessPhase::kCollective, in_phase, step);
  };
  EXPECT_THAT(*culprits({waits(0, 31s, 7), waits(1, 31s, 6), waits(2, 40s, 7)}), ElementsAre(Rank(1)));
  EXPECT_THAT(*culprits({waits(0, 31s, 7), waits(1, 31s, 7)}), ElementsAre());
  EXPECT_EQ(culprits({waits(0, 31s, 7), waits(1, 30s, 7)}), std::nullopt);  // the last came just now
}

TEST(Hang, NobodyHangsWhileNobodyIsLate) {
  EXPECT_EQ(culprits({}), std::nullopt);
  EXPECT_EQ(culprits({rank(0, ProcessPhase::kCompute, 30s)}), std::nullopt);
  EXPECT_THAT(*culprits({rank(0, ProcessPhase::kCompute, 31s), rank(1, ProcessPhase::kData, 31s)}),
              ElementsAre(Rank(0), Rank(1)));
}

}  // namespace
}  // namespace ratoon::session
