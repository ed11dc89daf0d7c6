#include "operator/core/status/recovery.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "operator/core/reconcile.h"
#include "tests/support/operator_builders.h"

namespace ratoon::core::recovery_test {
namespace {

using test::at_seconds;
using test::process;

void follow(Observation& seen, const Decision& decision) {
  seen.job.status = decision.status;
  seen.world = decision.announcement.world;
  seen.recovery = decision.recovery;
}

void all_beat(Observation& seen, std::uint64_t step, ProcessPhase phase) {
  seen.processes.resize(2);
  for (std::uint32_t i = 0; i < 2; ++i) {
    seen.processes[i].identity = process(i, i);
    seen.processes[i].join_request.reset();
    seen.processes[i].beat = test::beat(process(i, i), 2, step);
    seen.processes[i].beat->phase = phase;
  }
}

TEST(Recovery, EverySecondFromTheLastSignOfLifeToTheFirstStepIsAccountedFor) {
  auto seen = test::running(test::job(2));
  seen.job.status.ledger.newest_attempt = Attempt(1);
  seen.processes[0].last_heard = at_seconds(103);
  seen.processes[1].last_heard = at_seconds(100);
  seen.listening_since = at_seconds(0);
  auto decision = reconcile(seen, at_seconds(103));  // silent for three seconds
  ASSERT_TRUE(decision.recovery);
  EXPECT_EQ(decision.status.open_recovery->node, "node-2");

  follow(seen, decision);
  seen.pods[1] = test::pod(1, 1);
  seen.pods[1].node.clear();
  follow(seen, reconcile(seen, at_seconds(103.25)));  // created
  seen.pods[1].node = "node-4";
  follow(seen, reconcile(seen, at_seconds(103.75)));  // placed
  const std::vector<InventoryEntry> saved = {test::checkpoint(1, 40)};
  seen.processes = {test::waiting(process(0), 1, saved, 104.75),
                    test::waiting(process(1, 1), 0, saved, 104.75)};
  seen.processes[0].join_request->left_step = Step(47);
  follow(seen, reconcile(seen, at_seconds(104.75)));  // it spoke, and the world is formed
  EXPECT_TRUE(seen.job.status.is_world_formed);
  all_beat(seen, 40, ProcessPhase::kLoad);
  follow(seen, reconcile(seen, at_seconds(105)));  // met
  all_beat(seen, 40, ProcessPhase::kCompute);
  follow(seen, reconcile(seen, at_seconds(105.5)));  // loaded
  EXPECT_FALSE(seen.job.status.last_disruption);
  all_beat(seen, 41, ProcessPhase::kCompute);
  seen.processes[1].beat->step = Step(40);
  EXPECT_FALSE(reconcile(seen, at_seconds(106)).status.last_disruption) << "one rank is in its first step";
  seen.processes[1].beat->step = Step(41);
  decision = reconcile(seen, at_seconds(106.5));

  ASSERT_TRUE(decision.status.last_disruption);
  const auto& done = *decision.status.last_disruption;
  EXPECT_EQ(done.phases, (api::RecoveryPhases{3, 0.25, 0.5, 1, 0.25, 0.5, 1}));
  EXPECT_EQ(done.phases.total_seconds(), 6.5);
  EXPECT_EQ(done.lost_steps, 7U);
  EXPECT_EQ(done.member, member_name(test::job_key(), "worker", 1, 0));
  EXPECT_FALSE(decision.recovery);
  EXPECT_FALSE(decision.status.open_recovery);
  EXPECT_EQ(decision.status.ledger.repeated_step_count, 7U);
}

// Two members, of which the second was lost at 103 s with 47 steps reported, and an operator whose clock
// began later than that of the one that saw the loss.
class TakeOverTest : public testing::Test {
 protected:
  void SetUp() override {
    seen_.processes[0].last_heard = at_seconds(103);
    seen_.processes[1].last_heard = at_seconds(100);
    for (auto& heard : seen_.processes) heard.beat = test::beat(heard.identity, 1, 47);
    at(103);
    seen_.pods[1] = test::pod(1, 1);
    ASSERT_TRUE(seen_.job.status.open_recovery);
  }
  Decision at(double when) {
    seen_.wall_now = {from_seconds(when + 5000)};
    auto decision = reconcile(seen_, at_seconds(when - clock_behind_));
    follow(seen_, decision);
    return decision;
  }
  // Another operator knows the status, and hears nothing at first.
  void take_over(double when) {
    clock_behind_ = 60;
    seen_.recovery.reset();
    seen_.processes.clear();
    seen_.world.clear();
    seen_.listening_since = at_seconds(when - clock_behind_);
  }
  void meet_at(double when) {
    const std::vector<InventoryEntry> saved = {test::checkpoint(1, 40)};
    seen_.processes = {test::waiting(process(0), 1, saved, when - clock_behind_),
                       test::waiting(process(1, 1), 0, saved, when - clock_behind_)};
    at(when);
    ASSERT_TRUE(seen_.job.status.is_world_formed);
  }
  void step_at(double when) {
    all_beat(seen_, 41, ProcessPhase::kCompute);
    for (auto& heard : seen_.processes) heard.last_heard = at_seconds(when - clock_behind_);
    const auto decision = at(when);
    ASSERT_TRUE(decision.status.last_disruption);
    const auto& done = *decision.status.last_disruption;
    EXPECT_EQ(done.member, "digits-worker-1-i0");
    EXPECT_EQ(done.time, WallTime{from_seconds(5103)});
    EXPECT_NEAR(done.phases.total_seconds(), when - 100, 0.001);
    EXPECT_EQ(done.lost_steps, 7U);
    const auto told = test::only<EmitEvent>(decision);
    EXPECT_TRUE(std::ranges::any_of(told, [](const auto& event) { return event.reason == "Recovered"; }));
    EXPECT_EQ(decision.status.ledger.repeated_step_count, 7U);
  }

  Observation seen_ = test::running([] {
    auto job = test::job(2);
    job.status.ledger.newest_attempt = Attempt(1);
    return job;
  }());
  double clock_behind_ = 0;
};

TEST_F(TakeOverTest, AnOperatorThatTakesOverBeforeTheNextWorldReportsTheRecovery) {
  take_over(103.5);
  at(104);
  meet_at(106);
  step_at(107);
}

TEST_F(TakeOverTest, AnOperatorThatDoesNotKnowTheSeatsReportsTheRecovery) {
  meet_at(105);
  take_over(105.5);
  at(106);
  step_at(107);
}

TEST_F(TakeOverTest, ARecoveryWithFurtherLossesNamesTheFirstMemberToo) {
  seen_.pods[0] = test::ended_pod(0, 137);
  at(104);
  ASSERT_TRUE(seen_.job.status.open_recovery);
  EXPECT_EQ(seen_.job.status.open_recovery->member, "digits-worker-0-i0");
  EXPECT_EQ(seen_.job.status.open_recovery->reason,
            "ended by signal 9; the recovery began with the loss of digits-worker-1-i0");
  EXPECT_EQ(seen_.job.status.open_recovery->time, WallTime{from_seconds(5103)});
  seen_.pods[0] = test::pod(0, 1);
  seen_.pods[1] = test::ended_pod(1, 137, 1);
  at(105);
  EXPECT_EQ(seen_.job.status.open_recovery->reason,
            "ended by signal 9; the recovery began with the loss of digits-worker-1-i0")
      << "also of digits-worker-1-i1, and the first one is named once";
}

TEST_F(TakeOverTest, ASuspensionEndsTheRecoveryWithoutAReport) {
  seen_.job.spec.is_suspended = true;
  at(104);
  EXPECT_FALSE(seen_.job.status.open_recovery);
  EXPECT_FALSE(seen_.recovery);
}

// All members are lost before the first save, with the operator: only the history has the last steps.
TEST(StepsMadeAgain, AreThoseOfAnAttemptOfWhichOnlyTheHistoryIsLeft) {
  auto seen = test::running(test::job(2));
  seen.job.status.attempt = Attempt(2);
  seen.job.status.is_world_formed = false;
  seen.job.status.step = Step(5);
  seen.job.status.ledger.newest_attempt = Attempt(1);
  seen.world.clear();
  seen.processes = {test::waiting(process(0), 1), test::waiting(process(1), 1)};
  for (auto& heard : seen.processes) {
    heard.join_request->has_been_in_world = false;
    heard.join_request->left_step = Step(12);
  }
  const auto formed = reconcile(seen, at_seconds(1)).status;
  ASSERT_TRUE(formed.is_world_formed);
  EXPECT_EQ(formed.ledger.repeated_step_count, 12U);
  EXPECT_EQ(formed.ledger.newest_step, Step(12));
  EXPECT_EQ(formed.ledger.newest_attempt, Attempt(2));

  // The process that knows the step may be lost before the next world is formed.
  auto waits = seen;
  waits.processes.pop_back();
  waits.job.status = reconcile(waits, at_seconds(1)).status;
  ASSERT_FALSE(waits.job.status.is_world_formed);
  waits.wall_now = test::wall(5);
  waits.processes = seen.processes;
  for (auto& heard : waits.processes) {
    heard.checkpoints_listed_at = at_seconds(1);  // after the end of the last world
    heard.join_request->left_step = Step(0);
  }
  EXPECT_EQ(reconcile(waits, at_seconds(1)).status.ledger.repeated_step_count, 12U);

  seen.job.status.ledger.newest_attempt = Attempt(0);
  const auto of_older_run = reconcile(seen, at_seconds(1)).status.ledger;
  EXPECT_EQ(of_older_run.repeated_step_count, 0U);
  EXPECT_EQ(of_older_run.newest_step, Step(5)) << "an older run left that history";
  seen.job.status.ledger.newest_attempt = Attempt(2);
  EXPECT_EQ(reconcile(seen, at_seconds(1)).status.ledger.repeated_step_count, 5U)
      << "they were counted before";
}

// No loss had to be detected: the members left when they were told to.
TEST(Recovery, AHandOverBeginsWhenTheWorldIsGivenUp) {
  auto seen = test::running(test::job(2));
  seen.job.status.members[1].successor = 1;
  seen.job.status.members[1].successor_uid = test::uid_of(1, 1);
  seen.pods.push_back(test::pod(1, 1));
  for (auto& facts : seen.processes) facts = test::waiting(facts.identity, 1, {}, 100);
  seen.processes.push_back(test::waiting(process(1, 1), 0, {}, 90));
  const auto decision = reconcile(seen, at_seconds(102));
  ASSERT_TRUE(decision.recovery);
  EXPECT_EQ(decision.status.open_recovery->reason, "its node will become unavailable");
  EXPECT_EQ(decision.recovery->last_message_at, at_seconds(102));
  EXPECT_EQ(decision.recovery->judged_lost_at, at_seconds(102));
}

TEST(Recovery, AFirstStartIsNone) {
  auto seen = test::running(test::new_job(2));
  EXPECT_FALSE(reconcile(seen, at_seconds(1)).recovery);
}

}  // namespace
}  // namespace ratoon::core::recovery_test
