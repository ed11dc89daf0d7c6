// Failures of other operators that a decision could repeat, each as the facts that led to it.
// docs/contribute/operator_failures.md has the reports, and the other tests.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/core/reconcile.h"
#include "tests/support/operator_builders.h"

namespace ratoon::core::pitfalls_test {
namespace {

using test::only;
using test::process;

Decision decide(const Observation& seen) {
  return reconcile(seen, test::at_seconds(1));
}

// Stores the decision; its pods run on a node of their own, and deleted pods are ending.
void follow(Observation& seen, const Decision& decision) {
  test::store(decision, "node-9", seen);
  for (const auto& action : only<DeletePod>(decision))
    for (auto& pod : seen.pods) pod.is_deleting = pod.is_deleting || pod.uid == action.uid;
}

// With a second decision, which notes the pods that were just made.
Decision follow_and_decide(Observation& seen) {
  follow(seen, decide(seen));
  follow(seen, decide(seen));
  return decide(seen);
}

// The view is outdated: it shows a pod as unplaced that was replaced since.
TEST(Pitfall, WhyNoNodeTakesAPodIsToldOfMembersAlone) {
  auto seen = test::running(test::job(1));
  seen.job.status.is_world_formed = false;
  seen.world.clear();
  seen.job.status.members[0].incarnation = 1;
  seen.job.status.members[0].uid = test::uid_of(0, 1);
  seen.pods.push_back(test::pod(0, 1));
  for (auto& pod : seen.pods) {
    pod.node.clear();
    pod.unplaced_reason = "0 nodes are available";
  }
  EXPECT_THAT(reconcile(seen, test::at_seconds(1)).status.message,
              testing::HasSubstr("no node takes digits-worker-0-i1:"));
}

TEST(Pitfall, APodThatHangsInTerminatingIsNotWaitedFor) {
  auto seen = test::running(test::job(2));
  seen.pods[1].is_deleting = true;  // and stays so: its node is gone
  const auto made = only<CreatePod>(decide(seen));
  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(made[0].pod.name, "digits-worker-1-i1");
  const auto later = follow_and_decide(seen);
  EXPECT_TRUE(later.actions.empty());
  EXPECT_EQ(later.status.members[1].uid, test::uid_of(1, 1));
}

TEST(Pitfall, AnExitWithZeroOnSigtermIsNotTheEnd) {
  auto seen = test::running(test::job(2));
  seen.pods = {test::ended_pod(0, 0), test::ended_pod(1, 0)};
  const auto decision = decide(seen);
  EXPECT_NE(decision.status.phase, api::JobPhase::kSucceeded);
  EXPECT_EQ(decision.status.restarts.application, 2U);
}

TEST(Pitfall, AnExitWithZeroOnANodeThatIsToGoCostsNoRestart) {
  auto seen = test::running(test::job(2));
  seen.nodes = {{.name = "node-of-1", .is_unschedulable = true}};
  seen.pods[1] = test::ended_pod(1, 0);
  seen.pods[1].node = "node-of-1";
  const auto decision = decide(seen);
  EXPECT_EQ(decision.status.restarts.application, 0U);
  EXPECT_EQ(decision.status.restarts.disruption, 1U);
  seen.pods[1].exit_code = 1;
  EXPECT_EQ(decide(seen).status.restarts.application, 1U) << "what fails there has failed";
}

TEST(Pitfall, AnEndThatThePlatformMadeIsNotJudgedByItsCode) {
  auto seen = test::running(test::job(2));
  seen.pods[1] = test::ended_pod(1, 82);
  seen.pods[1].is_evicted = true;
  seen.pods[1].end_reasons = {"Evicted"};
  const auto decision = decide(seen);
  EXPECT_NE(decision.status.phase, api::JobPhase::kFailed);
  EXPECT_EQ(decision.status.restarts.disruption, 1U);
  EXPECT_EQ(decision.status.restarts.application, 0U);
}

TEST(Pitfall, ALossIsCountedOnceHoweverLongItsPodIsSeen) {
  auto seen = test::running(test::job(2));
  seen.pods[1] = test::ended_pod(1, 1);
  seen.job.spec.restart_policy.backoff_seconds = 0;
  for (int look = 0; look < 5; ++look) follow(seen, decide(seen));
  EXPECT_EQ(seen.job.status.restarts.application, 1U) << "failed, deleted, and on its way out";
  std::erase_if(seen.pods, [](const auto& pod) { return pod.is_deleting; });
  follow(seen, decide(seen));
  EXPECT_EQ(seen.job.status.restarts.application, 1U) << "and gone";
  EXPECT_EQ(seen.job.status.restarts.disruption, 0U);
}

TEST(Pitfall, TheLossOfOneDeletesNobodyElse) {
  auto seen = test::running(test::job(4));
  seen.pods[2] = test::ended_pod(2, 137);
  const auto gone = only<DeletePod>(decide(seen));
  ASSERT_EQ(gone.size(), 1U);
  EXPECT_EQ(gone[0].uid, test::uid_of(2));
}

TEST(Pitfall, WhoIsDoneIsDoneThoughItsNodeAndPodAreGone) {
  auto seen = test::running(test::job(2));
  seen.pods[1] = test::ended_pod(1, 0);
  seen.pods[1].is_completed = true;
  follow(seen, decide(seen));
  seen.pods.pop_back();
  seen.processes.pop_back();
  const auto decision = decide(seen);
  EXPECT_TRUE(decision.status.members[1].is_completed);
  EXPECT_TRUE(only<CreatePod>(decision).empty());
  EXPECT_EQ(decision.status.restarts.disruption, 0U);
}

TEST(Pitfall, NothingIsExpectedOfAPodThatWasNeverSeen) {
  Observation seen{.job = test::new_job(2)};
  seen.job.status = decide(seen).status;  // stored, and neither pod was made
  EXPECT_EQ(only<CreatePod>(decide(seen)).size(), 2U);
}

TEST(Pitfall, AViewThatIsBehindTouchesOnlyWhatItNamesByUid) {
  auto seen = test::running(test::job(2));
  seen.pods[1] = test::ended_pod(1, 137);
  follow_and_decide(seen);
  // The view shows an earlier state: the old pod still runs, and the new one exists.
  seen.pods = {test::pod(0), test::pod(1, 0), test::pod(1, 1)};
  const auto decision = decide(seen);
  const auto gone = only<DeletePod>(decision);
  ASSERT_EQ(gone.size(), 1U);
  EXPECT_EQ(gone[0].uid, test::uid_of(1, 0));
  EXPECT_TRUE(only<CreatePod>(decision).empty());
  EXPECT_EQ(decision.status.restarts.disruption, 1U);
}

TEST(Pitfall, APodOfTheSameNameIsAnotherIfItsUidIs) {
  auto seen = test::running(test::job(2));
  seen.pods[1].uid = "another";
  seen.pods[1].is_completed = true;
  const auto decision = decide(seen);
  EXPECT_FALSE(decision.status.members[1].is_completed);
  EXPECT_EQ(decision.status.members[1].incarnation, 1U) << "its own is gone";
  const auto gone = only<DeletePod>(decision);
  ASSERT_EQ(gone.size(), 1U);
  EXPECT_EQ(gone[0].uid, "another");
}

TEST(Pitfall, ANodeThatGivesNoticeRightAfterItGotAPodIsLeftAgain) {
  auto seen = test::running(test::job(2));
  seen.job.status.is_world_formed = false;
  seen.world.clear();
  seen.processes.pop_back();  // it has not spoken yet
  seen.nodes = {{.name = "node-1"}, {.name = "node-2", .taints = {{"karpenter.sh/disrupted", "NoSchedule"}}}};
  const auto decision = decide(seen);
  EXPECT_EQ(decision.status.members[1].successor, 1U);
  const auto made = only<CreatePod>(decision);
  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(test::names_of(made[0].avoid_nodes), std::vector<std::string>({"node-2"}));
}

TEST(Pitfall, WhoWaitsForANodeIsLookedAtWhenOneIsAvoidedNoMore) {
  Observation seen{.job = test::new_job(1)};
  seen.job.status = decide(seen).status;
  seen.job.status.suspect_nodes = {
      {.name = "node-1", .reason = "silent", .until = WallTime{std::chrono::seconds(60)}}};
  seen.pods = {test::pod(0)};
  seen.pods[0].phase = api::PodPhase::kPending;
  seen.pods[0].node.clear();
  seen.pods[0].avoided_nodes = {"node-1"};
  follow(seen, decide(seen));
  const auto waiting = decide(seen);
  EXPECT_TRUE(waiting.actions.empty());
  EXPECT_EQ(waiting.wake_at, test::at_seconds(61)) << "nothing else would wake us";
  seen.wall_now = {std::chrono::seconds(60)};
  EXPECT_FALSE(decide(seen).actions.empty());
}

}  // namespace
}  // namespace ratoon::core::pitfalls_test
