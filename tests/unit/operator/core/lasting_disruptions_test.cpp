// Accelerators that stay broken: the job waits with growing pauses and is not failed, unless it sets a limit
// of its own.
#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "operator/core/reconcile.h"
#include "tests/support/operator_builders.h"

namespace ratoon::core::lasting_disruptions_test {
namespace {

using std::chrono::seconds;
using Names = std::vector<std::string>;

Decision decide(const Observation& seen) {
  return reconcile(seen, test::at_seconds(1));
}

Names made(const Decision& decision) {
  Names names;
  for (const auto& action : decision.actions)
    if (const auto* create = std::get_if<CreatePod>(&action)) names.push_back(create->pod.name);
  return names;
}

// Of a job of two members.
Observation second_ended(int exit_code) {
  auto seen = test::running(test::job(2));
  seen.wall_now = {seconds(100)};
  seen.job.spec.restart_policy.backoff_seconds = 2;
  seen.pods[1] = test::ended_pod(1, exit_code);
  return seen;
}

Observation both_ended(int exit_code) {
  auto seen = second_ended(exit_code);
  seen.pods[0] = test::ended_pod(0, exit_code);
  return seen;
}

// The driver of each node that the job can get is broken: all trainers end with 85 at their start.
TEST(LastingDisruptions, BrokenAcceleratorsAreWaitedForAndEndNoJobThatSetNoLimit) {
  auto seen = both_ended(85);
  seen.job.status.restarts.consecutive_crashes = 40;
  seen.job.status.restarts.losses_without_step = 20;
  auto decision = decide(seen);
  EXPECT_EQ(decision.status.phase, api::JobPhase::kRecovering) << decision.status.message;
  EXPECT_EQ(made(decision), Names());
  EXPECT_EQ(decision.status.restarts.application, 0U);
  EXPECT_EQ(decision.status.restarts.losses_without_step, seen.job.status.restarts.losses_without_step);
  EXPECT_EQ(decision.status.members[1].next_pod_not_before,
            WallTime{seconds(100 + seen.job.spec.restart_policy.backoff_max_seconds)});
  EXPECT_NE(decision.status.message.find("exit code 85"), std::string::npos) << decision.status.message;
  seen.job.spec.restart_policy.is_losses_without_step_max_set = true;
  EXPECT_EQ(decide(seen).status.phase, api::JobPhase::kFailed);
}

TEST(LastingDisruptions, AfterTheFirstBrokenAcceleratorTheMemberStartsAtOnceOnAnotherNode) {
  auto seen = second_ended(85);
  EXPECT_EQ(made(decide(seen)), Names({"digits-worker-1-i1"}));
  seen.job.status.restarts.consecutive_crashes = 1;
  EXPECT_EQ(made(decide(seen)), Names());
}

// Both train, and a successor of the second one ended.
TEST(LastingDisruptions, ASuccessorOnABrokenAcceleratorIsMadeAgainAfterAPause) {
  auto seen = test::running(test::job(2));
  seen.wall_now = {seconds(100)};
  seen.job.status.members[1].successor = 1;
  seen.job.status.members[1].successor_uid = test::uid_of(1, 1);
  seen.pods.push_back(test::ended_pod(1, 85, 1));
  const auto decision = decide(seen);
  EXPECT_EQ(decision.status.phase, api::JobPhase::kRunning);
  EXPECT_EQ(made(decision), Names());
  EXPECT_TRUE(decision.status.members[1].next_pod_not_before);
}

}  // namespace
}  // namespace ratoon::core::lasting_disruptions_test
