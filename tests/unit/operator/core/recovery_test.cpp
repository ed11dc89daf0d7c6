#include "operator/core/status/recovery.h"

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
    seen.processes[i].waiting.reset();
    seen.processes[i].beat = test::beat(process(i, i), 2, step);
    seen.processes[i].beat->phase = phase;
  }
}

TEST(Recovery, EverySecondFromTheLastSignOfLifeToTheFirstStepIsAccountedFor) {
  auto seen = test::running(test::job(2));
  seen.processes[0].last_heard = at_seconds(103);
  seen.processes[1].last_heard = at_seconds(100);
  seen.listening_since = at_seconds(0);
  auto decision = reconcile(seen, at_seconds(103));  // silent for three seconds
  ASSERT_TRUE(decision.recovery);
  EXPECT_EQ(decision.recovery->node, "node-2");

  follow(seen, decision);
  seen.pods[1] = test::pod(1, 1);
  seen.pods[1].node.clear();
  follow(seen, reconcile(seen, at_seconds(103.25)));  // created
  seen.pods[1].node = "node-4";
  follow(seen, reconcile(seen, at_seconds(103.75)));  // placed
  const std::vector<InventoryEntry> saved = {test::checkpoint(1, 40)};
  seen.processes = {test::waiting(process(0), 1, saved, 104.75),
                    test::waiting(process(1, 1), 0, saved, 104.75)};
  seen.processes[0].left_step = Step(47);
  follow(seen, reconcile(seen, at_seconds(104.75)));  // it spoke, and the world is formed
  EXPECT_TRUE(seen.job.status.is_formed);
  all_beat(seen, 40, ProcessPhase::kLoad);
  seen.processes[0].left_step = Step(47);
  follow(seen, reconcile(seen, at_seconds(105)));  // met
  all_beat(seen, 40, ProcessPhase::kCompute);
  seen.processes[0].left_step = Step(47);
  follow(seen, reconcile(seen, at_seconds(105.5)));  // loaded
  EXPECT_FALSE(seen.job.status.last_disruption);
  all_beat(seen, 41, ProcessPhase::kCompute);
  seen.processes[0].left_step = Step(47);
  decision = reconcile(seen, at_seconds(106.5));

  ASSERT_TRUE(decision.status.last_disruption);
  const auto& done = *decision.status.last_disruption;
  EXPECT_EQ(done.phases, (api::RecoveryPhases{3, 0.25, 0.5, 1, 0.25, 0.5, 1}));
  EXPECT_EQ(done.phases.total_seconds(), 6.5);
  EXPECT_EQ(done.lost_steps, 7U);
  EXPECT_EQ(done.member, member_name(test::job_key(), "worker", 1, 0));
  EXPECT_FALSE(decision.recovery);
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
  EXPECT_EQ(decision.recovery->reason, "its node will go");
  EXPECT_EQ(decision.recovery->last_sign, at_seconds(102));
  EXPECT_EQ(decision.recovery->decided, at_seconds(102));
}

TEST(Recovery, AFirstStartIsNone) {
  auto seen = test::running(test::new_job(2));
  EXPECT_FALSE(reconcile(seen, at_seconds(1)).recovery);
}

}  // namespace
}  // namespace ratoon::core::recovery_test
