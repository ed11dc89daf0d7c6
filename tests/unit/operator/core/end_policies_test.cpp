// The rules for a job's end, and its consequences: success and failure policies, pods, time to live.
#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/core/reconcile.h"
#include "tests/support/operator_builders.h"

namespace ratoon::core::end_policies_test {
namespace {

using api::CleanPodPolicy;
using api::JobPhase;
using test::process;
using test::wall;
using Names = std::vector<std::string>;

// Role worker with two members, and role eval with one, which is the third.
Observation with_evaluator() {
  Observation seen = test::running(test::job(3));
  seen.wall_now = wall(100);
  seen.job.spec.num_nodes = 2;
  seen.job.spec.roles.push_back({.name = "eval", .replicas = 1, .command = {"eval"}, .environment = {}});
  seen.job.status.members[2].role = "eval";
  seen.job.status.members[2].index = 0;
  seen.pods[2].role = "eval";
  seen.pods[2].index = 0;
  seen.processes[2].identity.role = "eval";
  seen.processes[2].identity.index = 0;
  seen.world[2].process = seen.processes[2].identity;
  return seen;
}

Decision decide(const Observation& seen) {
  return reconcile(seen, test::at_seconds(1));
}

Names deleted(const Decision& decision) {
  Names names;
  for (const auto& action : decision.actions)
    if (const auto* gone = std::get_if<DeletePod>(&action)) names.push_back(gone->name);
  return names;
}

bool tells_of(const Decision& decision, const std::string& member) {
  return std::any_of(decision.actions.begin(), decision.actions.end(), [&](const Action& action) {
    const auto* event = std::get_if<EmitEvent>(&action);
    return event != nullptr && event->reason == "MemberLost" && event->message.starts_with(member);
  });
}

bool deletes_job(const Decision& decision) {
  return std::any_of(decision.actions.begin(), decision.actions.end(),
                     [](const Action& action) { return std::holds_alternative<DeleteJob>(action); });
}

TEST(SuccessPolicy, WhatWasCountedInTheLastLookIsTold) {
  auto seen = with_evaluator();
  seen.job.spec.success_policy.roles = {"worker"};
  seen.processes[0].is_completed = seen.processes[1].is_completed = true;
  seen.pods[2].phase = api::PodPhase::kFailed;
  seen.pods[2].exit_code = 1;
  const auto decision = decide(seen);
  EXPECT_EQ(decision.status.phase, JobPhase::kSucceeded);
  EXPECT_EQ(decision.status.restarts.application, 1U);
  EXPECT_TRUE(tells_of(decision, "digits-eval-0-i0"));
}

// A log shipper, for example, that would hold the node for ever.
TEST(CleanPods, WhoOutlivesItsTrainerForLongGoesWithThePod) {
  auto seen = with_evaluator();
  seen.job.status.phase = JobPhase::kSucceeded;
  seen.job.status.completed_at = wall(90);
  for (auto& member : seen.job.status.members) member.is_completed = true;
  for (auto& pod : seen.pods) pod.phase = api::PodPhase::kSucceeded;
  seen.pods[0].has_running_sidecars = true;
  seen.pods[0].ended_at = wall(80);
  const auto waits = decide(seen);
  EXPECT_EQ(deleted(waits), Names());
  EXPECT_EQ(waits.wake_at, test::at_seconds(11)) << "ten seconds are left of thirty";
  seen.wall_now = wall(110);
  EXPECT_EQ(deleted(decide(seen)), Names({seen.pods[0].name})) << "the others stay, for their logs";
  seen.job.spec.clean_pod_policy = CleanPodPolicy::kNone;
  EXPECT_EQ(deleted(decide(seen)), Names()) << "a member's stays";
  seen.pods[0].incarnation = 7;
  EXPECT_EQ(deleted(decide(seen)), Names({seen.pods[0].name})) << "a former one's does not";
}

// A replaced member's pod is not needed: it goes at once, with all containers in it.
TEST(CleanPods, AMemberThatFailedIsReplacedThoughItsNeighbourLives) {
  auto seen = with_evaluator();
  seen.pods[0].phase = api::PodPhase::kFailed;
  seen.pods[0].exit_code = 1;
  seen.pods[0].has_running_sidecars = true;
  const auto decision = decide(seen);
  EXPECT_EQ(decision.status.restarts.application, 1U);
  EXPECT_EQ(decision.status.last_failure->exit_code, 1U);
  EXPECT_EQ(deleted(decision), Names({seen.pods[0].name}));
}

TEST(SuccessPolicy, EverybodyIsWaitedForUnlessItNamesRoles) {
  auto seen = with_evaluator();
  seen.processes[0].is_completed = seen.processes[1].is_completed = true;
  EXPECT_EQ(decide(seen).status.phase, JobPhase::kRunning);
  seen.job.spec.success_policy.roles = {"eval"};
  EXPECT_EQ(decide(seen).status.phase, JobPhase::kRunning);
  seen.job.spec.success_policy.roles = {"worker"};
  const auto decision = decide(seen);
  EXPECT_EQ(decision.status.phase, JobPhase::kSucceeded);
  EXPECT_TRUE(decision.announcement.stop) << "the others are told to leave";
  EXPECT_EQ(deleted(decision), Names({seen.pods[2].name})) << "and nobody keeps a pod";
}

TEST(SuccessPolicy, NobodyIsNotEnough) {
  auto seen = with_evaluator();
  seen.job.spec.success_policy.roles = {"eval"};
  seen.job.status.members[2].is_absent = true;  // and those that it trained with are no more members
  EXPECT_EQ(decide(seen).status.phase, JobPhase::kRunning);
}

TEST(SuccessPolicy, OneOfTwoIsNotEnough) {
  auto seen = with_evaluator();
  seen.job.spec.success_policy.roles = {"worker"};
  seen.processes[0].is_completed = true;
  EXPECT_EQ(decide(seen).status.phase, JobPhase::kRunning);
}

TEST(SuccessPolicy, WhatIsStoredOfTheirEndIsAnnounced) {
  auto seen = with_evaluator();
  const auto done = [&seen] { return decide(seen).announcement.done; };
  EXPECT_THAT(done(), testing::IsEmpty());
  const std::string uid = seen.job.status.members[0].uid;
  seen.processes[0].is_completed = true;
  EXPECT_THAT(done(), testing::ElementsAre(api::RecordedCompletion{.member_uid = uid, .local_ranks = ~0ULL}));
  seen.job.spec.processes_per_node = 2;
  EXPECT_THAT(done(), testing::ElementsAre(api::RecordedCompletion{.member_uid = uid, .local_ranks = 1}));
}

TEST(FailurePolicy, FailuresOfOtherRolesUseUpNothing) {
  auto seen = with_evaluator();
  seen.job.spec.restart_policy.restarts_max = 0;
  seen.pods[2].phase = api::PodPhase::kFailed;
  seen.pods[2].exit_code = 1;
  EXPECT_EQ(decide(seen).status.phase, JobPhase::kFailed);
  seen.job.spec.failure_policy.roles = {"worker"};
  const auto decision = decide(seen);
  EXPECT_EQ(decision.status.phase, JobPhase::kRecovering);
  EXPECT_EQ(decision.status.restarts.application, 1U);
  EXPECT_EQ(decision.status.restarts.ignored, 1U);
  EXPECT_TRUE(decision.status.members[2].next_pod_not_before) << "made anew after a pause";
}

TEST(FailurePolicy, WhatWouldFailTheJobAtOnceIsAFailureLikeOthers) {
  auto seen = with_evaluator();
  seen.pods[2].phase = api::PodPhase::kFailed;
  seen.pods[2].exit_code = 82;
  EXPECT_EQ(decide(seen).status.phase, JobPhase::kFailed);
  seen.job.spec.failure_policy.roles = {"worker"};
  EXPECT_EQ(decide(seen).status.phase, JobPhase::kRecovering);
  EXPECT_TRUE(decide(seen).status.members[2].next_pod_not_before);
}

TEST(FailurePolicy, RolesThatDecideFailAsEver) {
  auto seen = with_evaluator();
  seen.job.spec.failure_policy.roles = {"worker"};
  seen.job.spec.restart_policy.restarts_max = 0;
  seen.job.status.restarts = {.application = 5, .ignored = 5};
  seen.pods[0] = test::ended_pod(0, 1);
  const auto decision = decide(seen);
  EXPECT_EQ(decision.status.phase, JobPhase::kFailed);
  EXPECT_EQ(decision.status.message, "digits-worker-0-i0: exit code 1; maxRestarts (0) is used up");
}

// Succeeded: worker 0 is done and its process still runs, worker 1's pod has ended, a third one was replaced.
Observation succeeding(CleanPodPolicy policy) {
  Observation seen = test::running(test::job(2));
  seen.job.spec.clean_pod_policy = policy;
  seen.processes[0].is_completed = seen.processes[1].is_completed = true;
  seen.pods[1] = test::ended_pod(1, 0);
  api::Pod replaced = test::pod(1, 7);
  replaced.name = "replaced";
  seen.pods.push_back(replaced);
  return seen;
}

TEST(CleanPodPolicy, SaysWhichPodsGo) {
  EXPECT_EQ(deleted(decide(succeeding(CleanPodPolicy::kNone))), Names({"replaced"}));
  EXPECT_EQ(deleted(decide(succeeding(CleanPodPolicy::kRunning))), Names({"replaced"}));
  EXPECT_EQ(deleted(decide(succeeding(CleanPodPolicy::kAll))), Names({"digits-worker-1-i0", "replaced"}));
  EXPECT_TRUE(decide(succeeding(CleanPodPolicy::kNone)).announcement.stop);
}

TEST(CleanPodPolicy, AllTakesThoseThatEndLaterToo) {
  auto seen = succeeding(CleanPodPolicy::kAll);
  seen.job.status = decide(seen).status;
  seen.pods = {test::ended_pod(0, 0)};
  EXPECT_EQ(deleted(decide(seen)), Names({"digits-worker-0-i0"}));
  seen.pods[0].is_deleting = true;
  EXPECT_EQ(deleted(decide(seen)), Names());
}

TEST(TimeToLive, AJobGoesWhenItIsOverForSoLong) {
  auto seen = succeeding(CleanPodPolicy::kRunning);
  seen.job.meta.uid = "uid-of-job";
  seen.wall_now = wall(100);
  seen.job.spec.ttl_seconds_after_finished = 60;
  auto decision = decide(seen);
  EXPECT_EQ(decision.wake_at, test::at_seconds(61)) << "whoever stores it need not ask again";
  seen.job.status = decision.status;
  EXPECT_EQ(seen.job.status.completed_at, wall(100));

  seen.wall_now = wall(159);
  decision = decide(seen);
  EXPECT_FALSE(deletes_job(decision));
  EXPECT_EQ(decision.wake_at, test::at_seconds(2));

  seen.wall_now = wall(160);
  decision = decide(seen);
  ASSERT_TRUE(deletes_job(decision));
  EXPECT_EQ(std::get<DeleteJob>(decision.actions.back()).uid, "uid-of-job");
  EXPECT_EQ(decision.status, seen.job.status) << "the end is the end";
}

TEST(TimeToLive, ThatItIsOverIsStoredBeforeItGoes) {
  auto seen = succeeding(CleanPodPolicy::kRunning);
  seen.job.spec.ttl_seconds_after_finished = 0;
  const auto decision = decide(seen);
  EXPECT_EQ(decision.status.phase, JobPhase::kSucceeded);
  EXPECT_FALSE(deletes_job(decision));
  EXPECT_EQ(decision.wake_at, test::at_seconds(1));
  seen.job.status = decision.status;
  EXPECT_TRUE(deletes_job(decide(seen)));
}

TEST(TimeToLive, AJobWithoutOneStays) {
  auto seen = succeeding(CleanPodPolicy::kRunning);
  seen.job.status = decide(seen).status;
  seen.wall_now = wall(1'000'000);
  EXPECT_FALSE(deletes_job(decide(seen)));
  EXPECT_EQ(decide(seen).wake_at, std::nullopt);
}

}  // namespace
}  // namespace ratoon::core::end_policies_test
