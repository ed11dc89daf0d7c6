#include "operator/core/status/ledger.h"

#include <numeric>

#include <gtest/gtest.h>

#include "operator/core/reconcile.h"
#include "tests/support/operator_builders.h"

namespace ratoon::core::ledger_test {
namespace {

using api::TimeLedgerPart;
using test::at_seconds;
using test::process;

// A job with repeated decisions, with one clock for both kinds of time.
class LedgerTest : public testing::Test {
 protected:
  const api::JobTimeLedger& at(double when) {
    seen_.wall_now = {from_seconds(when)};
    const Decision decision = reconcile(seen_, at_seconds(when));
    seen_.job.status = decision.status;
    seen_.world = decision.announcement.world;
    seen_.recovery = decision.recovery;
    return seen_.job.status.ledger;
  }
  // All report their progress.
  void beat(double when, std::uint64_t attempt, std::uint64_t step, std::uint32_t second_incarnation = 0) {
    seen_.processes.resize(2);
    for (std::uint32_t i = 0; i < 2; ++i) {
      const auto who = process(i, i == 0 ? 0 : second_incarnation);
      seen_.processes[i] = test::heard(who, when);
      seen_.processes[i].beat = test::beat(who, attempt, step);
    }
  }
  // The second member's pod is gone; the first one waits, and both meet again from step 40 on.
  void lose_and_meet_again(double lost_at, double met_at) {
    seen_.pods[1].is_deleting = true;
    seen_.pods[1].phase = api::PodPhase::kFailed;
    at(lost_at);
    seen_.pods[1] = test::pod(1, 1);
    at(lost_at + 0.25);
    const std::vector<InventoryEntry> saved = {test::checkpoint(1, 40)};
    seen_.processes = {test::waiting(process(0), 1, saved, met_at),
                       test::waiting(process(1, 1), 0, saved, met_at)};
    at(met_at);
    ASSERT_TRUE(seen_.job.status.is_world_formed);
  }
  [[nodiscard]] double spent(TimeLedgerPart part) const {
    return seen_.job.status.ledger.seconds[static_cast<std::size_t>(part)];
  }

  Observation seen_ = test::running(test::job(2));
};

TEST_F(LedgerTest, EachSecondOfALossIsInOnePart) {
  beat(100, 1, 47);
  EXPECT_EQ(at(100).part, TimeLedgerPart::kUseful);
  beat(110, 1, 47);
  lose_and_meet_again(111, 113);
  EXPECT_EQ(seen_.job.status.ledger.part, TimeLedgerPart::kRestarting);
  EXPECT_EQ(spent(TimeLedgerPart::kUseful), 10)
      << "until its last sign of life, a second before that was noticed";
  beat(113.5, 2, 40, 1);
  at(113.5);
  beat(114, 2, 41, 1);
  EXPECT_EQ(at(114).part, TimeLedgerPart::kRecomputed);
  beat(115, 2, 46, 1);
  at(115);
  beat(116, 2, 47, 1);
  EXPECT_EQ(at(116).part, TimeLedgerPart::kUseful);
  EXPECT_EQ(spent(TimeLedgerPart::kRestarting), 4);
  EXPECT_EQ(spent(TimeLedgerPart::kRecomputed), 2);
  const auto& sums = seen_.job.status.ledger.seconds;
  EXPECT_EQ(std::accumulate(sums.begin(), sums.end(), 0.0), 16);
}

TEST_F(LedgerTest, WhoStoodStillIsHung) {
  beat(100, 1, 47);
  at(100);
  beat(150, 1, 47);
  seen_.processes[1].beat->phase = ProcessPhase::kCompute;
  seen_.processes[0].beat->phase = ProcessPhase::kCollective;
  seen_.processes[1].beat->allowed_seconds = 30;
  seen_.processes[1].beat->seconds_in_phase = 40;
  at(150);
  EXPECT_EQ(spent(TimeLedgerPart::kUseful), 10);
  EXPECT_EQ(spent(TimeLedgerPart::kHung), 40);
  EXPECT_EQ(seen_.job.status.ledger.part, TimeLedgerPart::kRestarting);
}

TEST_F(LedgerTest, WithoutANodeForAMemberItWaitsForCapacity) {
  beat(100, 1, 47);
  at(100);
  seen_.pods[1].is_deleting = true;
  seen_.pods[1].phase = api::PodPhase::kFailed;
  at(101);
  seen_.pods[1] = test::pod(1, 1);
  seen_.pods[1].node.clear();
  seen_.pods[1].unplaced_reason = "0/3 nodes are available";
  EXPECT_EQ(at(102).part, TimeLedgerPart::kWaitingForCapacity);
  seen_.pods[1] = test::pod(1, 1);
  EXPECT_EQ(at(109).part, TimeLedgerPart::kRestarting);
  EXPECT_EQ(spent(TimeLedgerPart::kWaitingForCapacity), 7);
}

TEST_F(LedgerTest, ANewLeaderBooksOnInWhatTheOldOneLeftOpen) {
  beat(100, 1, 47);
  at(100);
  seen_.listening_since = at_seconds(100);
  seen_.world.clear();
  seen_.processes.clear();
  EXPECT_EQ(at(101).part, TimeLedgerPart::kUseful) << "it has received no message yet";
  beat(102, 1, 50);
  EXPECT_EQ(at(102).part, TimeLedgerPart::kUseful);
  EXPECT_EQ(spent(TimeLedgerPart::kUseful), 0) << "nothing is written while nothing changes";
}

TEST_F(LedgerTest, ANewLeaderTakesNoStepForANewOneThatTheWorldBeganWith) {
  auto& ledger = seen_.job.status.ledger;
  ledger = {.since = test::wall(100), .newest_attempt = Attempt(1), .resumed_step = Step(47)};
  seen_.listening_since = at_seconds(100);
  seen_.world.clear();
  beat(101, 1, 47);
  EXPECT_EQ(at(101).part, TimeLedgerPart::kRestarting);
  beat(102, 1, 48);
  EXPECT_EQ(at(102).part, TimeLedgerPart::kUseful);
}

TEST_F(LedgerTest, ThatOfAJobThatIsOverIsClosed) {
  beat(100, 1, 47);
  at(100);
  for (auto& facts : seen_.processes) facts.is_completed = true;
  EXPECT_FALSE(at(130).since);
  EXPECT_EQ(spent(TimeLedgerPart::kUseful), 30);
  const api::JobTimeLedger closed = seen_.job.status.ledger;
  EXPECT_EQ(at(140), closed);
}

TEST_F(LedgerTest, OfARunnerThatIsGoneTheLastStepIsTheEndOfItsTraining) {
  beat(100, 1, 47);
  at(100);
  seen_.job.status.last_step_at = WallTime{std::chrono::seconds(120)};
  end_useful_time_at_last_step(seen_.job.status);
  end_useful_time_at_last_step(seen_.job.status);
  EXPECT_EQ(spent(TimeLedgerPart::kUseful), 20);
  EXPECT_EQ(seen_.job.status.ledger.part, TimeLedgerPart::kRestarting);
}

// A clock that is set back counts no time twice, and no negative time.
TEST_F(LedgerTest, AClockThatIsSetBackTakesNothingAway) {
  beat(100, 1, 47);
  at(100);
  seen_.pods[1].is_deleting = true;
  seen_.pods[1].phase = api::PodPhase::kFailed;
  seen_.wall_now = {};
  at(20);
  for (const double sum : seen_.job.status.ledger.seconds) EXPECT_GE(sum, 0);
}

TEST_F(LedgerTest, NorDoesOneThatIsSetBackBeforeTheEnd) {
  beat(100, 1, 47);
  at(100);
  for (auto& facts : seen_.processes) facts.is_completed = true;
  at(20);
  EXPECT_EQ(seen_.job.status.phase, api::JobPhase::kSucceeded);
  EXPECT_EQ(spent(TimeLedgerPart::kUseful), 0);
}

}  // namespace
}  // namespace ratoon::core::ledger_test
