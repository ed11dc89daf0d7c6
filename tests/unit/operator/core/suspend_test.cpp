#include "operator/core/policy/suspend.h"

#include <algorithm>
#include <chrono>

#include <gtest/gtest.h>

#include "operator/core/reconcile.h"
#include "tests/support/operator_builders.h"

namespace ratoon::core::suspend_test {
namespace {

using api::JobPhase;
using test::process;
using test::wall;

Observation suspended(std::uint32_t members = 2) {
  Observation seen = test::running(test::job(members));
  seen.job.spec.is_suspended = true;
  seen.wall_now = wall(100);
  return seen;
}

Decision decide(const Observation& seen) {
  return reconcile(seen, test::at_seconds(1));
}

std::vector<std::string> deleted(const Decision& decision) {
  std::vector<std::string> names;
  for (const auto& action : decision.actions)
    if (const auto* gone = std::get_if<DeletePod>(&action)) names.push_back(gone->name);
  return names;
}
using Names = std::vector<std::string>;

TEST(Suspend, AWorldThatTrainsSavesAndLeavesFirst) {
  const auto decision = decide(suspended());
  EXPECT_EQ(decision.status.phase, JobPhase::kRunning);
  EXPECT_EQ(decision.status.suspending_since, wall(100));
  EXPECT_TRUE(decision.announcement.hand_over);
  EXPECT_EQ(decision.announcement.save_request, 1U);
  EXPECT_FALSE(decision.announcement.stop);
  EXPECT_TRUE(decision.actions.empty());
}

TEST(Suspend, AnotherSizeWaitsUntilThoseWhoTrainHaveSaved) {
  for (const std::uint32_t size : {1U, 3U}) {
    auto seen = suspended();
    seen.job.spec.num_nodes = size;
    const auto draining = decide(seen);
    EXPECT_TRUE(draining.announcement.hand_over) << size;
    EXPECT_TRUE(deleted(draining).empty()) << size << ": they have not saved";
    EXPECT_EQ(draining.status.members.size(), 2U);
    seen.job.status.suspending_since = wall(99);
    seen.processes = {test::waiting(process(0), 1), test::waiting(process(1), 1)};
    seen.job.status = decide(seen).status;
    seen.pods.clear();
    seen.processes.clear();
    EXPECT_EQ(decide(seen).status.phase, JobPhase::kSuspended);
    seen.job.spec.is_suspended = false;
    EXPECT_EQ(decide(seen).status.members.size(), size);
  }
}

// One patch suspends the job and raises or lowers processesPerNode.
TEST(Suspend, AnotherNumberOfProcessesWaitsUntilThoseThatTrainHaveSaved) {
  for (const bool has_leader_changed : {false, true}) {
    for (const std::uint32_t processes : {1U, 3U}) {
      auto seen = suspended();
      seen.job.spec.processes_per_node = 2;
      seen.world.clear();
      seen.processes.clear();
      for (std::uint32_t rank = 0; rank < 4; ++rank) {
        auto identity = process(rank / 2);
        identity.local_rank = rank % 2;
        seen.processes.push_back(test::heard(identity));
        seen.processes.back().beat = Heartbeat{.process = identity, .attempt = Attempt(1)};
        if (!has_leader_changed)
          seen.world.push_back({.process = identity,
                                .assignment = {.attempt = Attempt(1), .rank = Rank(rank), .world_size = 4}});
      }
      seen.job.status.world_size = 4;
      ASSERT_TRUE(decide(seen).announcement.hand_over);
      seen.job.spec.processes_per_node = processes;
      const auto draining = decide(seen);
      EXPECT_TRUE(draining.announcement.hand_over) << processes << " " << has_leader_changed;
      EXPECT_TRUE(deleted(draining).empty()) << "they have not saved";
      EXPECT_EQ(draining.announcement.processes_per_node, 2U) << "else the others are refused";
    }
  }
}

// One patch suspends the job and changes the field `agent` of its roles.
TEST(Suspend, WithAnotherAgentItsMembersStillSaveAsTheyWereMade) {
  for (const auto agent : {api::PodAgent::kRatoon, api::PodAgent::kLauncher}) {
    auto seen = suspended();
    for (auto& pod : seen.pods) pod.agent = agent;
    seen.job.spec.roles[0].has_agent = false;
    const auto draining = decide(seen);
    EXPECT_TRUE(draining.announcement.hand_over);
    EXPECT_TRUE(deleted(draining).empty()) << "they have not saved";
    seen.job.spec.roles[0].has_agent = true;
    seen.processes = {test::waiting(process(0), 1), test::waiting(process(1), 1)};
    const auto removed = test::only<DeletePod>(decide(seen));
    ASSERT_EQ(removed.size(), 2U);
    EXPECT_EQ(removed[0].has_grace, agent == api::PodAgent::kLauncher);
  }
}

TEST(Suspend, AGroupEndsByItsSignalWhateverAgentComesNext) {
  auto seen = suspended();
  seen.processes.clear();
  seen.world.clear();
  for (auto& pod : seen.pods) pod.agent = api::PodAgent::kNone;
  const auto removed = test::only<DeletePod>(decide(seen));
  ASSERT_EQ(removed.size(), 2U) << "such programs receive no orders";
  EXPECT_TRUE(removed[0].has_grace);
}

TEST(Suspend, TheAgentOfThePodsCountsOnlyUntilTheJobIsResumed) {
  auto seen = suspended();
  seen.job.spec.is_suspended = false;
  for (auto& pod : seen.pods) pod.agent = api::PodAgent::kNone;
  seen.nodes = {{.name = "node-1", .is_unschedulable = true}};
  EXPECT_EQ(test::only<CreatePod>(decide(seen)).size(), 1U) << "a group would get no successor";
}

TEST(Suspend, ItsPodsGoWhenItHasLeft) {
  auto seen = suspended();
  seen.job.status.suspending_since = wall(99);
  seen.job.status.last_checkpoint = ResumePoint{.attempt = Attempt(1), .step = Step(7), .digest = "d"};
  seen.processes = {test::waiting(process(0), 1), test::waiting(process(1), 1)};
  const auto decision = decide(seen);
  EXPECT_EQ(decision.status.message, "its pods end; when resumed, the run goes on from step 7");
  EXPECT_EQ(decision.status.attempt, Attempt(2));
  EXPECT_FALSE(decision.status.is_world_formed);
  EXPECT_EQ(deleted(decision), Names({"digits-worker-0-i0", "digits-worker-1-i0"}));
  EXPECT_EQ(decision.status.members[0].incarnation, 1U);
  EXPECT_EQ(decision.status.restarts.disruption, 0U);
}

// A queue gives the nodes of a suspended job to others.
TEST(Suspend, ItIsSuspendedWhenItsPodsAreGone) {
  auto seen = suspended();
  seen.job.status.suspending_since = wall(99);
  seen.processes = {test::waiting(process(0), 1), test::waiting(process(1), 1)};
  seen.job.status = decide(seen).status;
  for (auto& pod : seen.pods) pod.is_deleting = true;
  auto decision = decide(seen);
  EXPECT_EQ(decision.status.phase, JobPhase::kRecovering);
  EXPECT_EQ(test::only<EmitEvent>(decision).size(), 0U);
  const auto condition = std::ranges::find(decision.status.conditions, "Recovering", &api::Condition::type);
  ASSERT_NE(condition, decision.status.conditions.end());
  EXPECT_EQ(condition->reason, "Suspending");
  EXPECT_EQ(condition->message, decision.status.message);
  seen.job.status = decision.status;
  seen.pods.pop_back();
  EXPECT_EQ(decide(seen).status, seen.job.status) << "nothing is written for each pod that goes";
  seen.pods.back().phase = api::PodPhase::kSucceeded;
  seen.pods.back().has_running_sidecars = true;
  EXPECT_EQ(decide(seen).status.phase, JobPhase::kRecovering) << "a sidecar still holds the node";
  seen.pods.back().has_running_sidecars = false;
  decision = decide(seen);
  EXPECT_EQ(decision.status.phase, JobPhase::kSuspended);
  EXPECT_EQ(decision.status.message, "suspended; when resumed, the run goes on from step 0");
  EXPECT_EQ(test::only<EmitEvent>(decision).size(), 1U);
}

TEST(Suspend, ItIsNotWaitedForWithoutEnd) {
  auto seen = suspended();
  seen.job.status.suspending_since = wall(40);
  EXPECT_FALSE(decide(seen).status.is_world_formed);
  seen.job.status.suspending_since = wall(41);
  EXPECT_EQ(decide(seen).status.phase, JobPhase::kRunning);
}

TEST(Suspend, ItIsWaitedForAsLongAsItsSavesTake) {
  auto seen = suspended();
  seen.processes[0].beat = test::beat(process(0), 1, 7);
  seen.processes[1].beat = test::beat(process(1), 1, 7);
  seen.processes[1].beat->save_seconds = 45;
  seen.job.status.suspending_since = wall(1);
  const auto saving = decide(seen);
  EXPECT_EQ(saving.status.phase, JobPhase::kRunning) << "one that is under way, the last one, and a margin";
  EXPECT_EQ(saving.wake_at, test::at_seconds(2));
  seen.job.status.suspending_since = wall(0);
  EXPECT_FALSE(decide(seen).status.is_world_formed);
  seen.processes[1].beat->save_seconds = 3e8;
  EXPECT_EQ(decide(seen).status.phase, JobPhase::kRunning);
  seen.wall_now = wall(200000);
  EXPECT_FALSE(decide(seen).status.is_world_formed) << "no save takes years";
}

TEST(Suspend, ANewOperatorHearsAllBeforeItGivesUp) {
  auto seen = suspended();
  seen.job.status.suspending_since = wall(1);
  seen.world.clear();
  for (auto& heard : seen.processes) heard.beat = test::beat(heard.identity, 1, 7);
  const auto last = seen.processes.back();
  seen.processes.pop_back();
  EXPECT_EQ(decide(seen).status.phase, JobPhase::kRunning) << "it may save for longer than others do";
  seen.processes.push_back(last);
  EXPECT_FALSE(decide(seen).status.is_world_formed);
}

TEST(Suspend, APodThatWasMadeMeanwhileGoesToo) {
  auto seen = suspended(1);
  seen.job.status = {};
  seen.job.status.phase = JobPhase::kSuspended;
  seen.job.status.suspending_since = wall(40);
  seen.world.clear();
  const auto decision = decide(seen);
  EXPECT_EQ(deleted(decision), Names({"digits-worker-0-i0"}));
  EXPECT_EQ(decision.status.members[0].incarnation, 1U);
}

TEST(Suspend, ANewJobGetsNoPods) {
  auto seen = suspended();
  seen = {.job = test::new_job(2)};
  seen.job.spec.is_suspended = true;
  const auto decision = decide(seen);
  EXPECT_EQ(decision.status.phase, JobPhase::kSuspended);
  EXPECT_EQ(decision.status.message, "suspended; when resumed, the run goes on from step 0");
  EXPECT_EQ(decision.actions.size(), 1U) << "the event, and nothing else";
}

TEST(Suspend, GoesOnWithNewPodsWhenItIsOver) {
  auto seen = suspended();
  seen.job.status.suspending_since = wall(40);
  const auto before = decide(seen);
  Observation after{.job = seen.job};
  after.job.status = before.status;
  after.job.spec.is_suspended = false;
  const auto decision = decide(after);
  EXPECT_EQ(decision.status.phase, JobPhase::kRecovering);
  EXPECT_EQ(decision.status.suspending_since, std::nullopt);
  ASSERT_EQ(decision.actions.size(), 2U);
  EXPECT_EQ(std::get<CreatePod>(decision.actions[0]).pod.name, "digits-worker-0-i1");
}

// The user may have edited the template while the job was suspended.
TEST(Suspend, TheTemplateIsCheckedAgainUntilAWorldHasFormed) {
  auto seen = suspended();
  seen.job.status = decide(seen).status;
  seen.job.status.suspending_since = wall(40);
  seen.job.status = decide(seen).status;
  seen.pods.clear();
  seen.processes.clear();
  seen.world.clear();
  seen.wall_now = wall(200);
  seen.job.status = decide(seen).status;
  ASSERT_EQ(seen.job.status.phase, JobPhase::kSuspended);
  seen.job.spec.is_suspended = false;
  for (const char* why : {"its first decision", "a refusal of the pods"}) {
    seen.wall_now = wall(300);
    const auto decision = decide(seen);
    const auto made = test::only<CreatePod>(decision);
    ASSERT_EQ(made.size(), 2U) << why;
    EXPECT_EQ(made[0].pod.incarnation, 1U);
    EXPECT_TRUE(made[0].is_template_checked) << why;
    seen.job.status = decision.status;
  }
  for (std::uint32_t i = 0; i < 2; ++i) {
    seen.pods.push_back(test::pod(i, 1));
    seen.processes.push_back(test::waiting(process(i, 1), 0, {}, 2));
  }
  // The first decision notes the pods' UIDs, the second asks for lists of checkpoints.
  for (int round = 0; round < 3; ++round) test::store(decide(seen), "", seen);
  ASSERT_TRUE(seen.job.status.is_world_formed) << seen.job.status.message;
  seen.wall_now = wall(400);
  seen.pods.pop_back();
  const auto replaced = test::only<CreatePod>(decide(seen));
  ASSERT_EQ(replaced.size(), 1U);
  EXPECT_FALSE(replaced[0].is_template_checked) << "a check must not delay a job that has trained";
}

TEST(Suspend, TheFirstPodsOfAJobAreChecked) {
  const auto made = test::only<CreatePod>(decide({.job = test::new_job(2)}));
  ASSERT_EQ(made.size(), 2U);
  EXPECT_TRUE(made[0].is_template_checked);
}

TEST(ReleaseMembers, GoBeyondASuccessor) {
  auto seen = suspended();
  auto& member = seen.job.status.members[0];
  member.successor = 1;
  member.successor_uid = "uid-of-it";
  release_members(seen, seen.job.status.members);
  EXPECT_EQ(member.incarnation, 2U);
  EXPECT_FALSE(member.is_leaving());
}

TEST(ReleaseMembers, LeaveThoseThatAreDone) {
  auto seen = suspended();
  seen.job.status.members[0].is_completed = true;
  release_members(seen, seen.job.status.members);
  EXPECT_EQ(seen.job.status.members[0].incarnation, 0U);
  EXPECT_EQ(seen.job.status.members[1].incarnation, 1U);
}

}  // namespace
}  // namespace ratoon::core::suspend_test
