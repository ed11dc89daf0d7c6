// Jobs of launched programs (agent: Launcher): members are replaced one by one, as with the agent, and what
// needs reports of steps or checkpoints is left out.
#include <algorithm>

#include <gtest/gtest.h>

#include "operator/core/reconcile.h"
#include "tests/support/operator_builders.h"

namespace ratoon::core::launched_test {
namespace {

using api::JobPhase;
using test::ended_pod;
using test::only;
using test::process;
using test::waiting;
using test::wall;

constexpr std::uint32_t kMembers = 3;

api::TrainingJob launched_job() {
  auto job = test::job(kMembers);
  job.spec.roles[0].uses_launcher = true;
  job.status.world_formed_at = WallTime{};
  return job;
}

Heartbeat beat_of(std::uint32_t index, std::uint64_t attempt = 1) {
  return {
      .process = process(index), .attempt = Attempt(attempt), .sequence = 1, .phase = ProcessPhase::kUser};
}

Observation running_programs() {
  auto seen = test::running(launched_job());
  for (std::uint32_t i = 0; i < kMembers; ++i) {
    seen.processes[i].beat = beat_of(i);
    seen.processes[i].last_heard = test::at_seconds(10);
    seen.processes[i].has_been_in_world = true;
  }
  seen.wall_now = wall(10);
  return seen;
}

Decision decide(const Observation& seen, double now = 10) {
  return reconcile(seen, test::at_seconds(now));
}

std::vector<std::uint32_t> incarnations(const Decision& decision) {
  std::vector<std::uint32_t> all;
  for (const auto& member : decision.status.members) all.push_back(member.incarnation);
  return all;
}

TEST(Launched, AWorldOfProgramsThatReportNoStepsStands) {
  const auto decision = decide(running_programs());
  EXPECT_TRUE(decision.actions.empty());
  EXPECT_TRUE(decision.status.is_world_formed);
  EXPECT_EQ(decision.status.ledger.part, api::TimeLedgerPart::kUseful);
}

TEST(Launched, ASilentMemberIsReplacedAloneAndSoon) {
  auto seen = running_programs();
  for (std::uint32_t i = 1; i < kMembers; ++i) seen.processes[i].last_heard = test::at_seconds(14);
  const auto decision = decide(seen, 14);
  EXPECT_EQ(incarnations(decision), (std::vector<std::uint32_t>{1, 0, 0}));
  EXPECT_EQ(decision.status.attempt, Attempt(2));
  EXPECT_EQ(decision.announcement.attempt, Attempt(2)) << "the launchers of the others end their programs";
  EXPECT_EQ(decision.status.restarts.disruption, 1U);
  const auto made = only<CreatePod>(decision);
  ASSERT_EQ(made.size(), 1U);
  EXPECT_FALSE(made[0].pod.group_rank_assignment) << "its launcher asks for its rank";
}

TEST(Launched, TheNextWorldFormsWithoutListsOfCheckpoints) {
  auto seen = running_programs();
  seen.job.status.attempt = Attempt(2);
  seen.job.status.is_world_formed = false;
  seen.job.status.world_awaited_since = wall(5);
  seen.world.clear();
  for (std::uint32_t i = 0; i < kMembers; ++i) {
    seen.processes[i] = waiting(process(i), 1, {}, 4);  // its list is older than the end of the world
    seen.processes[i].last_heard = test::at_seconds(10);
  }
  const auto decision = decide(seen);
  EXPECT_TRUE(decision.status.is_world_formed);
  EXPECT_EQ(decision.announcement.world.size(), kMembers);
  EXPECT_FALSE(decision.announcement.checkpoint_lists_valid_from);
}

// The job had the agent before it was suspended and edited. Launchers never list its checkpoint.
TEST(Launched, ACheckpointOfAnEarlierProgramWithTheAgentStopsNoWorld) {
  for (const char* tier : {"volume", "local"}) {
    auto seen = running_programs();
    seen.job.status.attempt = Attempt(3);
    seen.job.status.is_world_formed = false;
    seen.job.status.last_checkpoint = test::resume_point(1, 40);
    seen.job.status.last_checkpoint_tier = tier;
    seen.world.clear();
    for (std::uint32_t i = 0; i < kMembers; ++i) {
      seen.processes[i] = waiting(process(i), 2, {}, 4);
      seen.processes[i].last_heard = test::at_seconds(10);
    }
    const auto decision = decide(seen);
    EXPECT_EQ(decision.status.phase, JobPhase::kRunning) << decision.status.message;
    EXPECT_EQ(decision.status.last_checkpoint, test::resume_point(1, 40)) << "the agent may come back";
    EXPECT_EQ(decision.status.last_checkpoint_tier, tier);
  }
}

TEST(Launched, AMemberIsDoneWhenItsLauncherExitsWithZero) {
  auto seen = running_programs();
  for (std::uint32_t i = 0; i < kMembers; ++i) seen.pods[i] = ended_pod(i, 0);
  const auto decision = decide(seen);
  EXPECT_EQ(decision.status.phase, JobPhase::kSucceeded);
  EXPECT_EQ(decision.status.message, "completed");
  EXPECT_EQ(decision.status.restarts, api::Restarts{});
}

TEST(Launched, TheWorldStandsWhileOthersAreNotDone) {
  auto seen = running_programs();
  seen.pods[2] = ended_pod(2, 0);
  const auto decision = decide(seen);
  EXPECT_EQ(decision.status.attempt, Attempt(1));
  EXPECT_TRUE(decision.status.is_world_formed);
  EXPECT_TRUE(decision.status.members[2].is_completed);
}

TEST(Launched, AfterALossMembersThatWereDoneStartAgain) {
  auto seen = running_programs();
  seen.pods[2] = ended_pod(2, 0);
  seen.job.status.members[2].is_completed = true;
  seen.pods[1] = ended_pod(1, 137);
  const auto decision = decide(seen);
  EXPECT_EQ(incarnations(decision), (std::vector<std::uint32_t>{0, 1, 1}));
  EXPECT_FALSE(decision.status.members[2].is_completed);
  const auto events = only<EmitEvent>(decision);
  EXPECT_TRUE(std::ranges::any_of(events, [](const EmitEvent& e) { return e.reason == "MembersRenewed"; }));
}

TEST(Launched, AFailureUsesUpOneRestartHoweverManyProgramsFollow) {
  auto seen = running_programs();
  seen.pods[1] = ended_pod(1, 3);
  seen.pods[2] = ended_pod(2, 1);
  const auto decision = decide(seen);
  EXPECT_EQ(decision.status.restarts.application, 1U);
  EXPECT_EQ(decision.status.restarts.disruption, 1U);
}

// Kubelets report the ends at different moments, and each report is a decision of its own.
TEST(Launched, AFailureUsesUpOneRestartAlthoughItsEndsAreReportedOneAfterAnother) {
  auto seen = running_programs();
  for (auto& member : seen.job.status.members) member.has_been_in_world = true;
  seen.pods[1] = ended_pod(1, 3);
  auto decision = decide(seen);
  ASSERT_EQ(decision.status.restarts.application, 1U);
  test::store(decision, "node-9", seen);
  seen.pods[2] = ended_pod(2, 1);
  decision = decide(seen);
  EXPECT_EQ(decision.status.restarts.application, 1U);
  EXPECT_EQ(decision.status.restarts.disruption, 1U);
  EXPECT_EQ(decision.status.restarts.consecutive_crashes, 1U);
}

TEST(Launched, AProgramThatFailsBeforeItsFirstWorldIsCounted) {
  auto seen = running_programs();
  seen.job.status.is_world_formed = false;
  seen.pods[1] = ended_pod(1, 3);
  EXPECT_EQ(decide(seen).status.restarts.application, 1U);
}

// The kubelet of the last node needs longer than the limit of silence to report that its program has ended.
TEST(Launched, AMemberThatMayHaveCompletedWithTheOthersIsAwaitedForLonger) {
  auto seen = running_programs();
  for (std::uint32_t i : {0U, 1U}) seen.pods[i] = ended_pod(i, 0);
  auto decision = decide(seen, 14);
  EXPECT_TRUE(decision.actions.empty());
  EXPECT_EQ(incarnations(decision), (std::vector<std::uint32_t>{0, 0, 0}));
  seen.pods[2] = ended_pod(2, 0);
  EXPECT_EQ(decide(seen, 16).status.phase, JobPhase::kSucceeded);
  seen.pods[2] = test::pod(2);
  EXPECT_EQ(incarnations(decide(seen, 41)), (std::vector<std::uint32_t>{1, 1, 1})) << "it is lost";
}

// Member 2 was heard last at 10 s, when its program had ended, and its kubelet reports that later.
TEST(Launched, AMemberWhoseProgramHasEndedIsAwaitedForLonger) {
  for (const std::uint64_t exit_code : {0U, 3U}) {
    auto seen = running_programs();
    seen.processes[2].beat->program_exit_code = exit_code;
    for (std::uint32_t i : {0U, 1U}) seen.processes[i].last_heard = test::at_seconds(39);
    const auto awaited = decide(seen, 39);
    EXPECT_EQ(incarnations(awaited), (std::vector<std::uint32_t>{0, 0, 0}));
    EXPECT_EQ(awaited.wake_at, test::at_seconds(40));
    EXPECT_EQ(incarnations(decide(seen, 41)), (std::vector<std::uint32_t>{0, 0, 1})) << "it is lost";
    seen.pods[2] = ended_pod(2, static_cast<int>(exit_code));
    const auto reported = decide(seen, 39);
    EXPECT_EQ(reported.status.members[2].is_completed, exit_code == 0);
    EXPECT_EQ(reported.status.restarts.application, exit_code == 0 ? 0U : 1U);
  }
}

TEST(Launched, ASuccessorTakesOverByAHandOver) {
  auto seen = running_programs();
  seen.job.status.members[1].successor = 1;
  seen.job.status.members[1].successor_uid = test::uid_of(1, 1);
  seen.pods.push_back(test::pod(1, 1));
  EXPECT_FALSE(decide(seen).announcement.hand_over);
  seen.processes.push_back(waiting(process(1, 1), 0, {}, 10));
  const auto decision = decide(seen);
  EXPECT_TRUE(decision.announcement.hand_over);
  EXPECT_EQ(decision.status.attempt, Attempt(1)) << "the programs save first";
}

std::vector<DeletePod> deletions_after_hand_over(Observation& seen) {
  const auto decision = decide(seen);
  EXPECT_EQ(incarnations(decision), (std::vector<std::uint32_t>{0, 1, 0}));
  test::store(decision, "node-9", seen);
  seen.pod_uids_with_grace = uids_deleted_with_grace(decision.actions);
  // The coordinator forgets the processes of a replaced member when it announces the decision.
  std::erase_if(seen.processes,
                [](const auto& known) { return known.identity.member_uid == test::uid_of(1); });
  return only<DeletePod>(decision);
}

// The program of member 1 still saves when the first of the others has left the world.
TEST(Launched, AMemberWithANoticeKeepsItsGraceWhenItsSuccessorTakesOver) {
  auto seen = running_programs();
  seen.job.status.members[1].successor = 1;
  seen.job.status.members[1].successor_uid = test::uid_of(1, 1);
  seen.pods.push_back(test::pod(1, 1));
  seen.processes.push_back(waiting(process(1, 1), 0, {}, 10));
  seen.processes[0] = waiting(process(0), 1, {}, 10);
  auto withdrawn = seen;
  seen.nodes = {{.name = "node-2", .is_unschedulable = true}};
  const DeletePod with_grace{
      .name = "digits-worker-1-i0", .uid = test::uid_of(1), .reason = "superseded", .has_grace = true};
  EXPECT_EQ(deletions_after_hand_over(seen), std::vector{with_grace});
  EXPECT_EQ(deletions_after_hand_over(seen), std::vector{with_grace}) << "the first deletion was refused";
  EXPECT_EQ(deletions_after_hand_over(withdrawn), std::vector{with_grace});

  // The next world does not wait for it, and nothing is counted.
  seen.pods[1].is_deleting = true;
  seen.pods[1].ends_at = wall(40);
  for (auto& known : seen.processes)
    if (known.identity.index == 2) known = waiting(process(2), 1, {}, 10);
  const auto formed = decide(seen);
  EXPECT_TRUE(formed.status.is_world_formed) << formed.status.message;
  EXPECT_EQ(formed.status.restarts, api::Restarts());
  EXPECT_TRUE(only<DeletePod>(formed).empty());
}

TEST(Launched, ALostMemberHasNoGrace) {
  auto seen = running_programs();
  for (std::uint32_t i = 1; i < kMembers; ++i) seen.processes[i].last_heard = test::at_seconds(14);
  auto with_notice = seen;
  with_notice.job.status.members[0].successor = 1;
  with_notice.nodes = {{.name = "node-1", .is_unschedulable = true}};
  for (const auto& each : {seen, with_notice}) {
    const auto deleted = only<DeletePod>(decide(each, 14));
    ASSERT_EQ(deleted.size(), 1U);
    EXPECT_FALSE(deleted[0].has_grace) << "it may be alive, and must not write";
  }
}

TEST(Launched, ARecoveryIsOverWhenAllProgramsRun) {
  auto seen = running_programs();
  for (std::uint32_t i = 1; i < kMembers; ++i) seen.processes[i].last_heard = test::at_seconds(14);
  seen.wall_now = wall(14);
  auto decision = decide(seen, 14);
  ASSERT_TRUE(decision.recovery);
  test::store(decision, "node-9", seen);
  std::erase_if(seen.pods, [](const api::Pod& pod) { return pod.index == 0 && pod.incarnation == 0; });
  seen.processes.clear();
  seen.processes.push_back(waiting(process(0, 1), 0, {}, 15));
  for (std::uint32_t i = 1; i < kMembers; ++i) seen.processes.push_back(waiting(process(i), 1, {}, 15));
  seen.wall_now = wall(15);
  for (int round = 0; round < 2; ++round) {  // the pod's UID is noted first
    decision = decide(seen, 15);
    test::store(decision, "node-9", seen);
  }
  ASSERT_TRUE(decision.status.is_world_formed);
  EXPECT_TRUE(decision.status.open_recovery);
  for (auto& facts : seen.processes) {
    facts.join_request.reset();
    facts.beat = Heartbeat{
        .process = facts.identity, .attempt = Attempt(2), .sequence = 1, .phase = ProcessPhase::kUser};
    facts.last_heard = test::at_seconds(16);
  }
  seen.wall_now = wall(16);
  decision = decide(seen, 16);
  EXPECT_FALSE(decision.status.open_recovery);
  ASSERT_TRUE(decision.status.last_disruption);
  EXPECT_EQ(decision.status.last_disruption->phases.first_step_seconds, 0.0);
}

TEST(Launched, TheSameFailureTwiceDoesNotEndAJobThatReportsNoSteps) {
  auto seen = running_programs();
  seen.job.status.last_failure =
      api::MemberFailure{.member = "job-worker-1-i0", .last_lines = "KeyError: 'lr'"};
  seen.pods[1] = ended_pod(1, 1);
  seen.pods[1].last_lines = "KeyError: 'lr'";
  EXPECT_NE(decide(seen).status.phase, JobPhase::kFailed);
}

}  // namespace
}  // namespace ratoon::core::launched_test
