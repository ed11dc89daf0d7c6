#include "operator/core/policy/backoff.h"

#include <algorithm>
#include <chrono>

#include <gtest/gtest.h>

#include "operator/core/reconcile.h"
#include "tests/support/operator_builders.h"

namespace ratoon::core::backoff_test {
namespace {

using std::chrono::seconds;
using test::process;

Decision decide(const Observation& seen) {
  return reconcile(seen, test::at_seconds(1));
}

std::vector<std::string> made(const Decision& decision) {
  std::vector<std::string> names;
  for (const auto& action : decision.actions)
    if (const auto* create = std::get_if<CreatePod>(&action)) names.push_back(create->pod.name);
  return names;
}
using Names = std::vector<std::string>;

Observation crashed(std::uint32_t crashes_before = 0) {
  auto seen = test::running(test::job(2));
  seen.wall_now = {seconds(100)};
  seen.job.status.restarts.consecutive_crashes = crashes_before;
  seen.job.spec.restart_policy.backoff_seconds = 2;
  seen.pods[1] = test::ended_pod(1, 1);
  return seen;
}

TEST(PauseAfter, DoublesUpToTheLongest) {
  const api::RestartPolicy policy{.backoff_seconds = 2, .backoff_max_seconds = 30};
  const int expected[] = {0, 2, 4, 8, 16, 30, 30};
  for (std::uint32_t crashes = 0; crashes < 7; ++crashes)
    EXPECT_EQ(pause_after_crashes(policy, crashes), seconds(expected[crashes])) << crashes;
  EXPECT_EQ(pause_after_crashes(policy, 0xffffffffU), seconds(30));
  EXPECT_EQ(pause_after_crashes({.backoff_seconds = 3600, .backoff_max_seconds = 3600}, 40), seconds(3600));
  EXPECT_EQ(pause_after_crashes({.backoff_seconds = 0, .backoff_max_seconds = 30}, 5), seconds(0));
}

// A leader whose clock was a day ahead has stored the end of the pause.
TEST(Backoff, APauseIsNotLongerThanTheLongestAlthoughTheClockWentBack) {
  auto seen = crashed();
  seen.job.spec.restart_policy.backoff_max_seconds = 30;
  auto& members = seen.job.status.members;
  members[0].next_pod_not_before = WallTime{seconds(100 + 24 * 3600)};
  members[1].next_pod_not_before = WallTime{seconds(110)};
  EXPECT_EQ(end_pauses(seen, members), WallTime{seconds(110)});
  EXPECT_EQ(members[0].next_pod_not_before, WallTime{seconds(130)})
      << "and it does not move on with the clock";
  EXPECT_EQ(members[1].next_pod_not_before, WallTime{seconds(110)});
}

TEST(Backoff, AMemberThatFailedIsMadeAfterAPause) {
  auto decision = decide(crashed());
  EXPECT_EQ(made(decision), Names());
  EXPECT_EQ(decision.status.members[1].next_pod_not_before, WallTime{seconds(102)});
  EXPECT_NE(decision.status.message.find(
                "digits-worker-1-i1 is created again after a pause, at 1970-01-01T00:01:42"),
            std::string::npos)
      << decision.status.message;
  Observation later = crashed();
  later.pods.pop_back();
  later.job.status = decision.status;
  later.wall_now = {seconds(101)};
  decision = decide(later);
  EXPECT_EQ(made(decision), Names());
  ASSERT_TRUE(decision.wake_at);
  EXPECT_LE(*decision.wake_at, test::at_seconds(2)) << "nobody else would end it";
  later.wall_now = {seconds(102)};
  decision = decide(later);
  EXPECT_EQ(made(decision), Names({"digits-worker-1-i1"}));
  EXPECT_EQ(decision.status.members[1].next_pod_not_before, std::nullopt);
}

TEST(Backoff, GrowsUntilAStepIsMade) {
  EXPECT_EQ(decide(crashed(2)).status.members[1].next_pod_not_before, WallTime{seconds(108)});
  EXPECT_EQ(decide(crashed(2)).status.restarts.consecutive_crashes, 3U);
  auto stepped = crashed(2);
  stepped.processes[0].beat = test::beat(process(0), 1, 5);
  EXPECT_EQ(decide(stepped).status.members[1].next_pod_not_before, WallTime{seconds(102)});
  EXPECT_EQ(decide(stepped).status.restarts.consecutive_crashes, 1U);
}

TEST(Backoff, MembersThatFailTogetherAreOneCrash) {
  auto seen = crashed();
  seen.pods[0] = test::ended_pod(0, 1);
  EXPECT_EQ(decide(seen).status.restarts.consecutive_crashes, 1U);
  EXPECT_EQ(decide(seen).status.restarts.application, 2U);
}

TEST(Backoff, DisruptionsNeverWait) {
  auto seen = crashed(5);
  seen.pods[1] = test::ended_pod(1, 137);
  EXPECT_EQ(made(decide(seen)), Names({"digits-worker-1-i1"}));
  seen.pods[0] = test::ended_pod(0, 1);
  EXPECT_EQ(made(decide(seen)), Names({"digits-worker-1-i1"})) << "not for others either";
}

// Their volume is full, or their store is unreachable: all end at the same moment.
Observation without_storage(std::uint32_t members, std::uint32_t before = 0) {
  auto seen = test::running(test::job(members));
  seen.wall_now = {seconds(100)};
  seen.job.spec.restart_policy.backoff_seconds = 2;
  seen.job.status.restarts.consecutive_crashes = before;
  seen.job.status.restarts.losses_without_step = before * members;
  for (std::uint32_t i = 0; i < members; ++i) seen.pods[i] = test::ended_pod(i, 84);
  seen.pods[0].last_lines = "ratoon: /data: No space left on device\n";
  return seen;
}

TEST(Backoff, AnOutageOfTheStorageIsNoFailureOfTheMembersAndIsWaitedFor) {
  constexpr std::uint32_t kMembers = 30;
  const int expected[] = {2, 4, 8, 16};
  for (std::uint32_t before = 0; before < 4; ++before) {
    const auto decision = decide(without_storage(kMembers, before));
    EXPECT_EQ(decision.status.phase, api::JobPhase::kRecovering) << decision.status.message;
    EXPECT_EQ(made(decision), Names());
    EXPECT_EQ(decision.status.restarts.application, 0U);
    EXPECT_EQ(decision.status.restarts.disruption, kMembers);
    EXPECT_EQ(decision.status.members[7].next_pod_not_before, WallTime{seconds(100 + expected[before])});
  }
}

TEST(Backoff, AnOutageOfTheStorageIsToldWhileItIsWaitedFor) {
  const auto seen = without_storage(2);
  const auto decision = decide(seen);
  EXPECT_NE(decision.status.message.find("because of a failure on " + seen.pods[1].node +
                                         ": exit code 84 (storage failed)"),
            std::string::npos)
      << decision.status.message;
  ASSERT_TRUE(decision.status.last_failure);
  EXPECT_EQ(decision.status.last_failure->exception, "/data: No space left on device");
  const auto is_told = [](const Action& action) {
    const auto* event = std::get_if<EmitEvent>(&action);
    return event != nullptr && event->reason == "MemberLost" &&
           event->message.ends_with("(storage failed); it said: /data: No space left on device");
  };
  EXPECT_TRUE(std::ranges::any_of(decision.actions, is_told));
}

TEST(Backoff, AnOutageOfTheStorageEndsNoJobThatSetNoLimit) {
  auto seen = without_storage(2, 10);
  seen.job.status.restarts.consecutive_crashes = 40;
  const auto decision = decide(seen);
  EXPECT_EQ(decision.status.phase, api::JobPhase::kRecovering);
  EXPECT_EQ(decision.status.restarts.losses_without_step, seen.job.status.restarts.losses_without_step);
  EXPECT_EQ(decision.status.members[1].next_pod_not_before,
            WallTime{seconds(100 + seen.job.spec.restart_policy.backoff_max_seconds)});
  EXPECT_NE(decision.status.message.find("exit code 84 (storage failed)"), std::string::npos)
      << decision.status.message;
}

// No process of the job reaches the operator: its members are made again after pauses, and the message says
// why.
TEST(Backoff, MembersThatCannotReachTheOperatorEndNoJobThatSetNoLimit) {
  auto seen = test::running(test::job(1));
  seen.wall_now = {seconds(100)};
  seen.listening_since = test::at_seconds(-3600);
  seen.job.status.is_world_formed = false;
  seen.world.clear();
  seen.processes.clear();
  seen.job.spec.start_deadline_seconds = 60;
  seen.job.status.members[0].first_message_awaited_since = WallTime{seconds(40)};
  seen.job.status.restarts = {.losses_without_step = 10, .consecutive_crashes = 40};
  auto decision = decide(seen);
  EXPECT_FALSE(api::is_over(decision.status.phase)) << decision.status.message;
  EXPECT_EQ(decision.status.restarts.losses_without_step, 10U);
  EXPECT_EQ(decision.status.members[0].next_pod_not_before,
            WallTime{seconds(100 + seen.job.spec.restart_policy.backoff_max_seconds)});
  EXPECT_NE(decision.status.message.find("no process of its job did"), std::string::npos)
      << decision.status.message;
  seen.job.spec.restart_policy.is_losses_without_step_max_set = true;
  decision = decide(seen);
  EXPECT_EQ(decision.status.phase, api::JobPhase::kFailed) << decision.status.message;
}

TEST(Backoff, AnOutageOfTheStorageThatLastsEndsAJobThatSetALimit) {
  auto seen = without_storage(2, 10);
  seen.job.spec.restart_policy.is_losses_without_step_max_set = true;
  const auto decision = decide(seen);
  EXPECT_EQ(decision.status.phase, api::JobPhase::kFailed);
  EXPECT_EQ(decision.status.message,
            "22 losses in a row, and no new step or checkpoint between them: see the members' logs; the last "
            "was digits-worker-1-i0: exit code 84 (storage failed)");
}

TEST(Backoff, ASuccessorThatIsThereTakesOver) {
  auto seen = crashed();
  seen.job.status.members[1].successor = 1;
  seen.job.status.members[1].successor_uid = test::uid_of(1, 1);
  seen.pods.push_back(test::pod(1, 1));
  EXPECT_EQ(decide(seen).status.members[1].next_pod_not_before, std::nullopt);
}

// Both train, and a successor of the second one failed; the first successor, or a later one.
Observation a_successor_failed(int exit_code, std::uint32_t number = 1) {
  auto seen = test::running(test::job(2));
  seen.wall_now = {seconds(100)};
  seen.job.spec.restart_policy.backoff_seconds = 2;
  seen.job.spec.restart_policy.restarts_max = 0;
  seen.job.status.members[1].successor = number;
  seen.job.status.members[1].successor_uid = test::uid_of(1, number);
  seen.pods.push_back(test::ended_pod(1, exit_code, number));
  seen.processes[0].beat = test::beat(process(0), 1, 5);
  return seen;
}

TEST(Backoff, ASuccessorThatFailsIsMadeAnewAfterAPauseThatGrows) {
  for (const auto& [number, pause] : {std::pair(1U, 2), {2U, 4}, {3U, 8}}) {
    const auto decision = decide(a_successor_failed(1, number));
    EXPECT_EQ(made(decision), Names());
    EXPECT_EQ(decision.status.members[1].successor, number + 1);
    EXPECT_EQ(decision.status.members[1].next_pod_not_before, WallTime{seconds(100 + pause)})
        << "though the job steps";
  }
  auto later = a_successor_failed(1);
  later.job.status = decide(later).status;
  later.wall_now = {seconds(102)};
  EXPECT_EQ(made(decide(later)), Names({"digits-worker-1-i2"}));
}

TEST(Backoff, ASuccessorCannotFailAJobThatTrains) {
  for (const int exit_code : {1, 82}) {
    const auto decision = decide(a_successor_failed(exit_code));
    EXPECT_EQ(decision.status.phase, api::JobPhase::kRunning) << exit_code;
    EXPECT_EQ(decision.status.restarts.application, 1U);
    EXPECT_EQ(decision.status.restarts.ignored, 1U);
    EXPECT_EQ(decision.status.restarts.losses_without_step, 0U);
    EXPECT_EQ(decision.status.restarts.consecutive_crashes, 0U);
  }
}

// The world was formed without the second one, whose pod fails on a broken node.
TEST(Backoff, ASpareCannotFailAJobThatTrains) {
  auto seen = crashed();
  seen.job.spec.elastic_policy = {.members_min = 1};
  seen.job.spec.restart_policy.restarts_max = 0;
  seen.job.status.members[1].is_absent = true;
  seen.world.pop_back();
  seen.processes.pop_back();
  const auto decision = decide(seen);
  EXPECT_EQ(decision.status.phase, api::JobPhase::kRunning);
  EXPECT_EQ(decision.status.attempt, seen.job.status.attempt);
  EXPECT_EQ(decision.status.restarts.ignored, 1U);
  EXPECT_EQ(decision.status.restarts.losses_without_step, 0U);
  EXPECT_EQ(made(decision), Names());
  const seconds pause(seen.job.spec.restart_policy.backoff_max_seconds);
  EXPECT_EQ(decision.status.members[1].next_pod_not_before, WallTime{seconds(100) + pause})
      << "the job does not wait for it";
}

const char* const kRejection = "UnexpectedAdmissionError: Allocate failed due to no healthy devices present";

// A kubelet did not start the pod of the only member.
Observation rejected(std::uint32_t before = 0) {
  auto seen = test::running(test::job(1));
  seen.wall_now = {seconds(100)};
  seen.job.spec.restart_policy.backoff_seconds = 2;
  seen.job.spec.restart_policy.losses_without_step_max = 1;
  seen.job.status.restarts = {.disruption = before, .consecutive_crashes = before};
  seen.job.status.members[0].incarnation = before;
  seen.job.status.members[0].uid = test::uid_of(0, before);
  auto& pod = seen.pods[0] = test::pod(0, before);
  pod.phase = api::PodPhase::kFailed;
  pod.is_evicted = true;
  pod.kubelet_rejection = kRejection;
  return seen;
}

TEST(Backoff, APodThatAKubeletDoesNotStartIsMadeAgainAfterAPauseThatGrowsAndFailsNoJob) {
  const int expected[] = {2, 4, 8, 16};
  for (std::uint32_t before = 0; before < 4; ++before) {
    const auto decision = decide(rejected(before));
    EXPECT_EQ(made(decision), Names());
    EXPECT_EQ(decision.status.members[0].next_pod_not_before, WallTime{seconds(100 + expected[before])});
  }
  const auto decision = decide(rejected(40));
  EXPECT_FALSE(api::is_over(decision.status.phase)) << "no program failed";
  EXPECT_EQ(decision.status.restarts.application, 0U);
  EXPECT_EQ(decision.status.restarts.losses_without_step, 0U);
  EXPECT_EQ(decision.status.last_failure, std::nullopt);
}

TEST(Backoff, TheKubeletsWordsAreToldUntilThePauseIsOver) {
  auto seen = rejected();
  auto decision = decide(seen);
  EXPECT_NE(decision.status.message.find(kRejection), std::string::npos) << decision.status.message;
  EXPECT_NE(decision.status.message.find(seen.pods[0].node), std::string::npos) << decision.status.message;
  seen.pods.clear();  // it was deleted
  seen.job.status = decision.status;
  seen.wall_now = {seconds(101)};
  decision = decide(seen);
  EXPECT_NE(decision.status.message.find(kRejection), std::string::npos) << decision.status.message;
  seen.job.status = decision.status;
  seen.wall_now = {seconds(102)};
  decision = decide(seen);
  EXPECT_EQ(made(decision), Names({"digits-worker-0-i1"}));
  EXPECT_EQ(decision.status.kubelet_rejection, "");
}

// Seed 1851 of the laws: a job that is suspended makes all its members anew, and none of them waits.
TEST(Backoff, TheKubeletsWordsGoWithTheMemberThatWaited) {
  auto seen = test::running(test::job(2));
  seen.job.status.is_world_formed = false;
  seen.world.clear();
  seen.job.status.members[1].next_pod_not_before = WallTime{seconds(1000)};
  seen.job.status.kubelet_rejection = "n1: " + std::string(kRejection);
  seen.job.spec.is_suspended = true;
  const auto decision = decide(seen);
  EXPECT_FALSE(decision.status.members[1].next_pod_not_before);
  EXPECT_EQ(decision.status.kubelet_rejection, "");
}

TEST(Backoff, ASuccessorThatAKubeletDoesNotStartIsMadeAnewAfterAPauseThatGrows) {
  for (const auto& [number, pause] : {std::pair(1U, 2), {2U, 4}, {3U, 8}}) {
    auto seen = a_successor_failed(1, number);
    auto& pod = seen.pods.back();
    pod.exit_code.reset();
    pod.is_evicted = true;
    pod.kubelet_rejection = kRejection;
    const auto decision = decide(seen);
    EXPECT_EQ(made(decision), Names());
    EXPECT_EQ(decision.status.members[1].next_pod_not_before, WallTime{seconds(100 + pause)});
  }
}

// Deleted, evicted, vanished, reset: the platform itself reports this.
TEST(Backoff, WhatThePlatformDoesIsNotCountedAsLossesInVain) {
  const auto lose = [](api::Pod& pod, int how) {
    pod.phase = api::PodPhase::kFailed;
    if (how == 0) pod.is_evicted = true;
    if (how == 1) pod.is_deleting = true;
    if (how == 2) pod.kubelet_rejection = kRejection;
    if (how == 3) pod.end_reasons = {"Unknown"};
    if (how == 3) pod.exit_code = 255;
  };
  for (int how = 0; how <= 4; ++how) {
    auto seen = test::running(test::job(1));
    seen.job.spec.restart_policy.losses_without_step_max = 1;
    seen.job.status.restarts.losses_without_step = 1;
    if (how == 4)
      seen.pods.clear();
    else
      lose(seen.pods[0], how);
    const auto decision = decide(seen);
    EXPECT_EQ(decision.status.phase, api::JobPhase::kRecovering) << how;
    EXPECT_EQ(decision.status.restarts.losses_without_step, 1U) << how;
    EXPECT_EQ(decision.status.restarts.disruption, 1U) << how;
  }
}

}  // namespace
}  // namespace ratoon::core::backoff_test
