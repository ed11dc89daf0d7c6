// Members without the agent: the facts of pods and nodes alone, and their consequences.
#include "operator/core/world/agentless_group.h"

#include <algorithm>
#include <ctime>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/core/reconcile.h"
#include "tests/support/group_builders.h"

namespace ratoon::core::agentless_group_test {
namespace {

using api::JobPhase;
using test::decide;
using test::follow;
using test::group_job;
using test::incarnations;
using test::only;
using test::running_group;
using test::wall;

TEST(Group, AProgramThatIsOverBeforeItsPodIsStoredIsDone) {
  auto seen = running_group();
  seen.job.status.is_world_formed = false;
  for (auto& member : seen.job.status.members) member.uid.clear();
  for (std::uint32_t i = 0; i < test::kGroupMembers; ++i) seen.pods[i] = test::ended_pod(i, 0);
  const auto decision = decide(seen);
  EXPECT_EQ(decision.status.phase, JobPhase::kSucceeded);
  EXPECT_EQ(decision.status.message, "completed");
  EXPECT_EQ(decision.status.restarts, api::Restarts{});
}

TEST(Group, AFirstPodThatVanishedBeforeItWasStoredIsNotMadeASecondTime) {
  auto seen = running_group();
  seen.job.status.is_world_formed = false;
  for (auto& member : seen.job.status.members) member.uid.clear();
  seen.pods[1].rank0_pod_uid = seen.pods[2].rank0_pod_uid = seen.pods[0].uid;
  EXPECT_EQ(decide(seen).status.restarts, api::Restarts{});
  auto gone = seen;
  gone.pods.erase(gone.pods.begin());
  auto decision = decide(gone);
  EXPECT_EQ(incarnations(decision.status), std::vector<std::uint32_t>({1, 1, 1}));
  EXPECT_EQ(decision.status.restarts.disruption, 1U);
  auto again = seen;
  again.pods[0].uid = "made-again";
  again.pods[0].address = "10.0.0.99";
  decision = decide(again);
  EXPECT_EQ(incarnations(decision.status), std::vector<std::uint32_t>({1, 1, 1}))
      << "the others look for another";
}

TEST(Group, WhoFailsBesideOneThatWasTakenIsNotBlamedThoughNothingIsStoredYet) {
  auto seen = running_group();
  seen.job.spec.restart_policy.restarts_max = 0;
  for (auto& member : seen.job.status.members) member.uid.clear();
  seen.pods[0] = test::ended_pod(0, 143);
  seen.pods[0].is_evicted = true;
  seen.pods[1] = test::ended_pod(1, 1);
  const auto decision = decide(seen);
  EXPECT_EQ(decision.status.restarts.application, 0U);
  EXPECT_NE(decision.status.phase, JobPhase::kFailed);
}

TEST(Group, IsGivenItsGraceWhereItsOwnerStopsIt) {
  auto seen = running_group();
  seen.job.spec.is_suspended = true;
  const auto removed = only<DeletePod>(decide(seen));
  ASSERT_EQ(removed.size(), 3U);
  for (const auto& action : removed) EXPECT_TRUE(action.has_grace) << "its signal is all that tells it";
}

TEST(Group, StandsOnceAllPodsRunAndIsLeftAloneThen) {
  auto seen = running_group();
  seen.job.status.is_world_formed = false;
  seen.pods[1].phase = api::PodPhase::kPending;
  seen.pods[1].unplaced_reason = "0/3 nodes are available";
  const auto waiting = decide(seen);
  EXPECT_FALSE(waiting.status.is_world_formed);
  EXPECT_THAT(waiting.status.message, testing::HasSubstr("2 of 3 members run for attempt 1; no node takes"));
  seen.pods[1] = test::pod(1);
  seen.pods[1].address = "10.0.0.2";
  const auto formed = decide(seen);
  EXPECT_TRUE(formed.status.is_world_formed);
  EXPECT_EQ(formed.status.phase, JobPhase::kRunning);
  EXPECT_EQ(formed.status.world_size, 3U);
  follow(formed, seen);
  seen.wall_now = wall(100'000);  // no beat, no step, no call within any deadline
  const auto later = reconcile(seen, test::at_seconds(100'000));
  EXPECT_TRUE(later.actions.empty());
  EXPECT_EQ(later.status.attempt, formed.status.attempt);
  EXPECT_TRUE(later.status.is_world_formed);
  EXPECT_EQ(later.wake_at, std::nullopt) << "there is nothing to look at";
}

TEST(Group, TheLossOfOneMakesAllAnewAndCountsOne) {
  auto seen = running_group();
  seen.pods[2] = test::ended_pod(2, 137);
  const auto decision = decide(seen);
  EXPECT_EQ(decision.status.attempt, Attempt(2));
  EXPECT_EQ(incarnations(decision.status), std::vector<std::uint32_t>({1, 1, 1}));
  EXPECT_EQ(decision.status.restarts, (api::Restarts{.disruption = 1, .losses_without_step = 1}));
  EXPECT_EQ(only<DeletePod>(decision).size(), 3U);
  EXPECT_TRUE(only<CreatePod>(decision).empty())
      << "two of the group before run still, and nobody fences them";
  follow(decision, seen);
  const auto made = only<CreatePod>(decide(seen));
  ASSERT_EQ(made.size(), 1U) << "the others wait for the new address";
  EXPECT_EQ(made[0].pod.name, "digits-worker-0-i1");
}

TEST(Group, IsMadeAnewOnceNobodyOfTheOneBeforeCanRun) {
  auto seen = running_group();
  seen.pods[2] = test::ended_pod(2, 137);
  test::store(decide(seen), "node-9", seen);
  for (auto& pod : seen.pods) {
    pod.is_deleting = true;
    pod.ends_at = wall(11);
  }
  const auto waiting = decide(seen);
  EXPECT_TRUE(only<CreatePod>(waiting).empty());
  EXPECT_THAT(waiting.status.message,
              testing::HasSubstr("pod digits-worker-0-i0 of the previous group has to end first"));
  ASSERT_TRUE(waiting.wake_at);
  EXPECT_LE(*waiting.wake_at, test::at_seconds(41))
      << "a kubelet that does not end it is not waited for without end";
  auto later = seen;
  later.wall_now = wall(41);
  EXPECT_EQ(only<CreatePod>(decide(later)).size(), 1U);
  auto on_lost_nodes = seen;
  for (const auto& pod : seen.pods) on_lost_nodes.nodes.push_back({.name = pod.node, .is_lost = true});
  EXPECT_EQ(only<CreatePod>(decide(on_lost_nodes)).size(), 1U);
  for (auto& pod : seen.pods) pod.phase = api::PodPhase::kFailed;
  EXPECT_EQ(only<CreatePod>(decide(seen)).size(), 1U) << "their programs have ended";
}

TEST(Group, WhoIsDoneIsMadeAnewToo) {
  auto seen = running_group();
  seen.pods[0] = test::ended_pod(0, 0);
  follow(decide(seen), seen);
  ASSERT_TRUE(seen.job.status.members[0].is_completed);
  EXPECT_TRUE(seen.job.status.is_world_formed) << "the others still work";
  std::erase_if(seen.pods, [](const auto& pod) { return pod.index == 2; });  // its node is gone
  const auto decision = decide(seen);
  EXPECT_FALSE(decision.status.members[0].is_completed);
  EXPECT_EQ(incarnations(decision.status), std::vector<std::uint32_t>({1, 1, 1}));
}

TEST(Group, IsDoneWhenAllLeftWithZero) {
  auto seen = running_group();
  for (std::uint32_t i = 0; i < test::kGroupMembers; ++i) seen.pods[i] = test::ended_pod(i, 0);
  EXPECT_EQ(decide(seen).status.phase, JobPhase::kSucceeded);
}

// k/k #118310: a program that takes SIGTERM for the end of its work leaves with 0.
TEST(Group, AnExitWithZeroOnTheWayOutIsALoss) {
  struct Case {
    const char* what;
    void (*change)(Observation&);
  };
  const Case cases[] = {{"its pod was deleted", [](Observation& seen) { seen.pods[1].is_deleting = true; }},
                        {"the platform ended it", [](Observation& seen) { seen.pods[1].is_evicted = true; }},
                        {"its node is to go", [](Observation& seen) {
                           seen.nodes = {{.name = "node-2", .taints = {}, .is_unschedulable = true}};
                         }}};
  for (const auto& [what, change] : cases) {
    auto seen = running_group();
    seen.pods[1] = test::ended_pod(1, 0);
    change(seen);
    const auto decision = decide(seen);
    EXPECT_FALSE(decision.status.members[1].is_completed) << what;
    EXPECT_EQ(decision.status.restarts.disruption, 1U) << what;
    EXPECT_EQ(decision.status.restarts.application, 0U) << what;
    EXPECT_EQ(decision.status.attempt, Attempt(2)) << what;
  }
}

TEST(Group, PeersOfOneThatWasTakenAwayAreNotToBlame) {
  auto seen = running_group();
  seen.job.spec.restart_policy.rules = {{.exit_codes = {1}, .action = api::RuleAction::kFail}};
  seen.pods[0] = test::ended_pod(0, 1);  // "connection reset by peer"
  seen.pods[1].is_deleting = true;
  const auto decision = decide(seen);
  EXPECT_NE(decision.status.phase, JobPhase::kFailed);
  EXPECT_EQ(decision.status.restarts.application, 0U);
  EXPECT_EQ(decision.status.restarts.disruption, 1U) << "one group, one loss";
}

TEST(Group, OfThoseThatFailTogetherOneCounts) {
  auto seen = running_group();
  seen.job.spec.restart_policy.restarts_max = 1;
  for (std::uint32_t i = 0; i < test::kGroupMembers; ++i) seen.pods[i] = test::ended_pod(i, 1);
  const auto decision = decide(seen);
  EXPECT_NE(decision.status.phase, JobPhase::kFailed);
  EXPECT_EQ(decision.status.restarts.application, 1U);
}

TEST(Group, AFailureIsJudgedOnceThePlatformHasHadTimeToTellOfMore) {
  auto seen = running_group();
  seen.pods[0] = test::ended_pod(0, 1);
  seen.pods[0].ended_at = wall(9);
  const auto early = decide(seen);
  EXPECT_EQ(early.status.attempt, Attempt(1));
  EXPECT_EQ(early.status.restarts, api::Restarts());
  EXPECT_EQ(early.wake_at, test::at_seconds(12));

  auto taken = seen;
  taken.pods[1].is_deleting = true;  // now it is clear why
  EXPECT_EQ(decide(taken).status.restarts.application, 0U);
  EXPECT_EQ(decide(taken).status.attempt, Attempt(2));

  seen.wall_now = wall(12);
  EXPECT_EQ(decide(seen).status.restarts.application, 1U);
  EXPECT_EQ(decide(seen).status.attempt, Attempt(2));
  seen.pods[0].ended_at = wall(5000);
  EXPECT_EQ(decide(seen).status.restarts.application, 1U) << "a node's clock that is far ahead";
}

TEST(Group, ThePauseOfOneIsThePauseOfAll) {
  auto seen = running_group();
  seen.job.spec.restart_policy.backoff_seconds = 7;
  seen.pods[2] = test::ended_pod(2, 1);
  const auto decision = decide(seen);
  for (const auto& member : decision.status.members)
    EXPECT_EQ(member.next_pod_not_before, wall(17)) << member.index;
  EXPECT_TRUE(only<CreatePod>(decision).empty());
}

TEST(Group, ANodeThatThePlatformTakesForLostIsALoss) {
  auto seen = running_group();
  seen.nodes = {{.name = "node-2", .taints = {}, .is_ready = false}};
  EXPECT_TRUE(decide(seen).actions.empty()) << "the word of a kubelet that lives";
  seen.nodes[0].is_lost = true;
  const auto decision = decide(seen);
  EXPECT_EQ(incarnations(decision.status), std::vector<std::uint32_t>({1, 1, 1}));
  ASSERT_EQ(decision.status.suspect_nodes.size(), 1U);
  EXPECT_EQ(decision.status.suspect_nodes[0].name, "node-2");
  follow(decision, seen);
  EXPECT_THAT(test::names_of(only<CreatePod>(decide(seen)).at(0).avoid_nodes), testing::Contains("node-2"));
}

TEST(Group, NoticeMakesNoSuccessorThatCouldNotTakeOver) {
  auto seen = running_group();
  seen.nodes = {{.name = "node-2", .taints = {}, .is_unschedulable = true}};
  const auto decision = decide(seen);
  EXPECT_TRUE(decision.actions.empty());
  EXPECT_FALSE(decision.status.members[1].is_leaving());
}

TEST(Group, IsSuspendedAtOnceSinceNobodyHearsAboutIt) {
  auto seen = running_group();
  seen.job.spec.is_suspended = true;
  seen.job.status.members[0].is_completed = true;
  const auto decision = decide(seen);
  EXPECT_FALSE(decision.status.is_world_formed);
  EXPECT_EQ(only<DeletePod>(decision).size(), 3U);
  EXPECT_EQ(incarnations(decision.status), std::vector<std::uint32_t>({1, 1, 1}));
  EXPECT_FALSE(decision.status.members[0].is_completed);
}

TEST(Group, LossesInARowAreForgottenOnceItRanForAMinute) {
  for (const int stood : {59, 60}) {
    auto seen = running_group();
    seen.job.status.restarts = {.disruption = 30, .losses_without_step = 30};
    seen.wall_now = wall(stood);
    seen.pods[1] = test::ended_pod(1, 137);
    const auto decision = decide(seen);
    EXPECT_EQ(decision.status.phase == JobPhase::kFailed, stood < 60) << stood;
  }
}

TEST(Group, ItsRecoveryIsOverWhenAllRun) {
  auto seen = running_group();
  seen.pods[1] = test::ended_pod(1, 137);
  follow(decide(seen), seen);
  ASSERT_TRUE(seen.recovery);
  follow(decide(seen), seen);
  seen.pods[0].address = "10.0.0.9";
  follow(decide(seen), seen);
  const auto decision = decide(seen);
  EXPECT_TRUE(decision.status.is_world_formed);
  ASSERT_TRUE(decision.status.last_disruption);
  EXPECT_EQ(decision.status.last_disruption->member, "digits-worker-1-i0");
  EXPECT_FALSE(decision.recovery);
}

// The time of one decision about that many members that failed together.
double decision_seconds(std::uint32_t members, WallTime failed_at) {
  Observation seen = test::running(test::job(members));
  seen.job.spec.roles[0].has_agent = false;
  seen.job.spec.restart_policy.restarts_max = 1;
  seen.job.status.world_formed_at = WallTime{};
  seen.processes.clear();
  seen.world.clear();
  for (std::uint32_t i = 0; i < members; ++i) {
    seen.pods[i] = test::ended_pod(i, 1);
    seen.pods[i].ended_at = failed_at;
  }
  seen.wall_now = wall(10);
  const auto cpu_seconds = [] {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  };
  const double began = cpu_seconds();
  static_cast<void>(decide(seen));
  return cpu_seconds() - began;
}

TEST(Group, WhoWasTakenIsLookedUpOnceForAll) {
  // Eight times as many members are 64 times the work if each is searched among all, 512 times if all are
  // searched for each.
  constexpr std::uint32_t kFew = 150;
  const auto least_seconds = [](std::uint32_t members, WallTime failed_at) {
    return std::min({decision_seconds(members, failed_at), decision_seconds(members, failed_at),
                     decision_seconds(members, failed_at)});
  };
  for (const WallTime failed_at : {wall(5), wall(9)})  // the later ones are not judged yet
    EXPECT_LT(least_seconds(8 * kFew, failed_at), 200 * least_seconds(kFew, failed_at));
}

}  // namespace
}  // namespace ratoon::core::agentless_group_test
