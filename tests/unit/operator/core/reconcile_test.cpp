#include "operator/core/reconcile.h"

#include <chrono>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/operator_builders.h"

namespace ratoon::core::reconcile_test {
namespace {

using api::JobPhase;
using test::checkpoint;
using test::process;

Decision decide(const Observation& seen) {
  return reconcile(seen, test::at_seconds(1));
}

std::vector<std::string> reasons(const Decision& decision) {
  std::vector<std::string> found;
  for (const auto& action : decision.actions) {
    if (const auto* event = std::get_if<EmitEvent>(&action)) found.push_back(event->reason);
    if (const auto* made = std::get_if<CreatePod>(&action)) found.push_back("create " + made->pod.name);
    if (const auto* gone = std::get_if<DeletePod>(&action)) found.push_back("delete " + gone->name);
  }
  return found;
}
using Reasons = std::vector<std::string>;

TEST(Reconcile, ANewJobGetsItsPodsAndItsFirstAttempt) {
  const auto decision = decide({.job = test::new_job(2)});
  EXPECT_EQ(reasons(decision), Reasons({"create digits-worker-0-i0", "create digits-worker-1-i0"}));
  EXPECT_EQ(decision.status.phase, JobPhase::kPending);
  EXPECT_EQ(decision.status.attempt, Attempt(1));
  EXPECT_FALSE(decision.status.is_world_formed);
  EXPECT_EQ(decision.status.message, "0 of 2 processes are ready for attempt 1");
  EXPECT_EQ(decision.announcement.current.size(), 2u);
  EXPECT_EQ(decision.announcement.processes_per_node, 1u);
  EXPECT_FALSE(decision.announcement.stop);
}

TEST(Reconcile, AWorldIsFormedWhenTheLastOneJoins) {
  auto seen = test::running(test::job(2));
  seen.job.status.is_world_formed = false;
  seen.world.clear();
  seen.processes = {test::waiting(process(0)), test::heard(process(1))};
  EXPECT_TRUE(decide(seen).announcement.world.empty());
  EXPECT_EQ(decide(seen).status.message, "1 of 2 processes are ready for attempt 1");

  seen.processes[1] = test::waiting(process(1));
  const auto decision = decide(seen);
  EXPECT_EQ(reasons(decision), Reasons({"WorldFormed"}));
  EXPECT_EQ(decision.status.phase, JobPhase::kRunning);
  EXPECT_TRUE(decision.status.is_world_formed);
  EXPECT_EQ(decision.status.world_size, 2u);
  EXPECT_EQ(decision.announcement.world.size(), 2u);
  EXPECT_EQ(decision.announcement.attempt, Attempt(1));
}

TEST(Reconcile, AWorldIsToldHowManyMembersTheRunHasLost) {
  auto seen = test::running(test::job(2));
  seen.job.status.is_world_formed = false;
  seen.world.clear();
  seen.job.status.restarts = {.application = 1, .hung = 2, .disruption = 3};
  seen.processes = {test::waiting(process(0)), test::waiting(process(1))};
  const auto decision = decide(seen);
  ASSERT_EQ(decision.announcement.world.size(), 2u);
  for (const auto& seat : decision.announcement.world)
    EXPECT_EQ(seat.assignment.losses, (RunLosses{.disruption = 3, .application = 1, .hung = 2}));
}

TEST(Reconcile, TellsWhichMemberThatAskedToJoinFellQuiet) {
  auto seen = test::running(test::job(3));
  seen.job.status.is_world_formed = false;
  seen.world.clear();
  for (std::uint32_t i = 0; i < 3; ++i)
    seen.processes[i] = test::waiting(process(i), 0, {}, i == 1 ? 96 : 100);
  const std::string quiet =
      "2 of 3 processes are ready for attempt 1; digits-worker-1-i0 asked to join and has sent no message "
      "for 3 s: no world is formed with it until it sends one";
  EXPECT_EQ(reconcile(seen, test::at_seconds(100)).status.message, quiet);
  seen.processes[2].last_heard = test::at_seconds(96);
  EXPECT_EQ(
      reconcile(seen, test::at_seconds(100)).status.message,
      "1 of 3 processes are ready for attempt 1; digits-worker-1-i0 and 1 other member asked to join and "
      "have sent no message for 3 s: no world is formed with them until they send one");
  for (auto& facts : seen.processes) facts.last_heard = test::at_seconds(100);
  EXPECT_EQ(reconcile(seen, test::at_seconds(100)).status.message.find("sent no message"), std::string::npos);
}

TEST(Reconcile, NothingIsDoneWhileAllIsWell) {
  auto seen = test::running(test::job(3));
  seen.job.status = decide(seen).status;  // its conditions were never told
  const auto decision = decide(seen);
  EXPECT_TRUE(decision.actions.empty());
  EXPECT_EQ(decision.status, seen.job.status);
  EXPECT_EQ(decision.announcement.world.size(), 3u);
}

// The seats of the other members are returned unchanged.
TEST(Reconcile, TheSecretOfAnAttemptIsInItsSeatsAlone) {
  const std::string secret = "5ec2e75ec2e7";
  auto seen = test::running(test::job(2));
  for (auto& seat : seen.world) seat.assignment.secret = secret;
  auto lost = seen;
  lost.pods[1] = test::ended_pod(1, 1);
  for (const auto& decision : {decide(seen), decide(lost)}) {
    EXPECT_EQ(api::encode_status(decision.status).dump().find(secret), std::string::npos);
    EXPECT_EQ(decision.announcement.reason.find(secret), std::string::npos);
    for (const auto& action : decision.actions) {
      const auto* event = std::get_if<EmitEvent>(&action);
      EXPECT_TRUE(event == nullptr || event->message.find(secret) == std::string::npos);
    }
    for (const auto& seat : decision.announcement.world) EXPECT_EQ(seat.assignment.secret, secret);
  }
  EXPECT_EQ(decide(seen).announcement.world.size(), 2u);
  EXPECT_FALSE(decide(lost).actions.empty());
}

TEST(Reconcile, ACheckpointThatDoesNotReadBackIsToldOfOnce) {
  auto seen = test::running(test::job(2));
  seen.processes[0].beat = seen.processes[1].beat = test::beat(process(1), 1, 25, 1, checkpoint(1, 20));
  seen.job.status = decide(seen).status;
  auto damaged = checkpoint(1, 20);
  damaged.is_complete = false;
  seen.processes[0].beat->committed = checkpoint(1, 10);
  seen.processes[0].beat->damaged = {damaged};
  const auto decision = decide(seen);
  ASSERT_EQ(decision.actions.size(), 1u);
  EXPECT_EQ(std::get<EmitEvent>(decision.actions[0]).reason, "CheckpointUnreadable");
  EXPECT_EQ(decision.status.last_checkpoint, test::resume_point(1, 10));
  seen.job.status = decision.status;
  EXPECT_TRUE(decide(seen).actions.empty());
  EXPECT_EQ(decide(seen).status, decision.status);
}

TEST(Reconcile, WhatDoesNotReadBackIsNotResumedThoughOthersSawItCommitted) {
  auto seen = test::running(test::job(2));
  auto damaged = checkpoint(1, 20);
  damaged.is_complete = false;
  // Both began to wait before the damage was found.
  seen.processes = {test::waiting(process(0), 1, {checkpoint(1, 10)}),
                    test::waiting(process(1), 1, {checkpoint(1, 10)})};
  seen.processes[0].beat = test::beat(process(0), 1, 25, 9, checkpoint(1, 10));
  seen.processes[0].beat->damaged = {damaged};
  seen.processes[1].beat = test::beat(process(1), 1, 25, 9, checkpoint(1, 20));
  const auto decision = decide(seen);
  ASSERT_EQ(decision.announcement.world.size(), 2u);
  EXPECT_EQ(decision.announcement.world[0].assignment.resume, test::resume_point(1, 10));
}

TEST(Reconcile, ALossDissolvesTheWorldAndReplacesTheMemberInOneDecision) {
  auto seen = test::running(test::job(2));
  seen.pods[1] = test::ended_pod(1, 137);
  const auto decision = decide(seen);
  EXPECT_EQ(reasons(decision),
            Reasons({"MemberLost", "delete digits-worker-1-i0", "create digits-worker-1-i1"}));
  EXPECT_EQ(decision.status.phase, JobPhase::kRecovering);
  EXPECT_EQ(decision.status.attempt, Attempt(2));
  EXPECT_FALSE(decision.status.is_world_formed);
  EXPECT_EQ(decision.announcement.attempt, Attempt(2)) << "the others learn that their world is over";
  EXPECT_TRUE(decision.announcement.world.empty());
  EXPECT_EQ(decision.announcement.current[1].incarnation, 1u) << "the old one is fenced out";
}

TEST(Reconcile, ASecondLossBeforeTheWorldIsFormedTakesNoFurtherAttempt) {
  auto seen = test::running(test::job(2));
  seen.job.status.attempt = Attempt(2);
  seen.job.status.is_world_formed = false;
  seen.world.clear();
  seen.pods[0] = test::ended_pod(0, 137);
  EXPECT_EQ(decide(seen).status.attempt, Attempt(2));
}

// If it had told a member of the world, the members' beats would say so; another seating needs another
// number.
TEST(Reconcile, AnOperatorThatForgotTheWorldFormsTheNextOne) {
  auto seen = test::running(test::job(2));
  seen.world.clear();
  seen.processes = {test::waiting(process(0), 1), test::waiting(process(1), 1)};
  const auto decision = decide(seen);
  EXPECT_EQ(decision.status.attempt, Attempt(2));
  EXPECT_TRUE(decision.status.is_world_formed);
}

TEST(Reconcile, TheNewWorldResumesFromTheNewestCheckpointAndCountsFromThere) {
  auto seen = test::running(test::job(2));
  seen.job.status.step = Step(57);
  seen.processes = {test::waiting(process(0), 1, {checkpoint(1, 40)}),
                    test::waiting(process(1), 1, {checkpoint(1, 50)})};
  const auto decision = decide(seen);
  EXPECT_EQ(decision.status.step, Step(50)) << "steps after it are in no weights any more";
  for (const auto& seat : decision.announcement.world)
    EXPECT_EQ(seat.assignment.resume, test::resume_point(1, 50));
  EXPECT_EQ(decision.status.message, "attempt 2 trains with 2 processes from step 50");
}

TEST(Reconcile, WhatACompletedProcessCommittedIsNotTrainedAgain) {
  auto seen = test::running(test::job(2));
  seen.processes = {test::done(process(0)), test::waiting(process(1), 1, {checkpoint(1, 90)})};
  seen.processes[0].beat = test::beat(process(0), 1, 100, 9, checkpoint(1, 100));
  const auto decision = decide(seen);
  ASSERT_EQ(decision.announcement.world.size(), 1u);
  EXPECT_EQ(decision.announcement.world[0].assignment.resume, test::resume_point(1, 100));
}

TEST(Reconcile, AStatusThatWasLostDoesNotLeadBackToUsedAttempts) {
  auto seen = test::running(test::job(2));
  seen.job.status.attempt = Attempt(1);
  seen.job.status.is_world_formed = false;
  seen.world.clear();
  seen.processes = {test::waiting(process(0), 7), test::waiting(process(1), 0, {checkpoint(9, 100)})};
  EXPECT_EQ(decide(seen).status.attempt, Attempt(10));
  EXPECT_EQ(decide(seen).announcement.attempt, Attempt(10));
}

TEST(Reconcile, WakesWhenSomebodyMayBeLost) {
  auto seen = test::running(test::job(2));
  seen.processes[0].last_heard = test::at_seconds(0.5);
  EXPECT_EQ(decide(seen).wake_at, test::at_seconds(3));
}

// Among other members, or in another world, another member's silence may be long enough.
TEST(Reconcile, DecidesAgainAtOnceWhenTheWorldIsAnother) {
  auto seen = test::running(test::job(2));
  seen.processes[1] = test::waiting(process(1), 1);
  const auto decision = reconcile(seen, test::at_seconds(1));
  EXPECT_EQ(decision.status.attempt, Attempt(2));
  EXPECT_EQ(decision.wake_at, test::at_seconds(1));
}

TEST(Reconcile, TheJobSucceedsWhenAllHaveCompleted) {
  auto seen = test::running(test::job(2));
  seen.job.status.step = Step(400);
  seen.job.status.world_size = 2;
  seen.job.status.world_formed_at = seen.wall_now;
  seen.processes = {test::done(process(0)), test::done(process(1))};
  const auto decision = decide(seen);
  EXPECT_EQ(reasons(decision), Reasons({"Succeeded"})) << "pods that completed end by themselves";
  EXPECT_EQ(decision.status.phase, JobPhase::kSucceeded);
  EXPECT_EQ(decision.status.message, "completed at step 400");
  EXPECT_TRUE(decision.announcement.stop);
  EXPECT_FALSE(decision.status.is_world_formed) << "no world stands any longer";
  EXPECT_EQ(decision.status.world_size, 0U);
  EXPECT_EQ(decision.status.world_formed_at, std::nullopt);
}

TEST(Reconcile, TheStatusNamesTheWeightsWhoeverSaysSo) {
  auto seen = test::running(test::job(2));
  seen.processes[0] = test::done(process(0));
  seen.processes[0].weights = "/data/w";
  seen.job.status = decide(seen).status;
  EXPECT_EQ(seen.job.status.final_weights, "/data/w");
  EXPECT_EQ(seen.job.status.phase, JobPhase::kRunning) << "the others are not done";
  seen.processes = {test::done(process(0)),
                    test::done(process(1))};  // heard by another leader, in other words
  const auto decision = decide(seen);
  EXPECT_EQ(decision.status.final_weights, "/data/w");
  EXPECT_EQ(decision.status.message, "completed at step 0; weights: /data/w");

  auto away = test::running(test::job(1));  // nobody heard it; its pod says it
  away.processes.clear();
  away.pods[0] = test::ended_pod(0, 0);
  away.pods[0].weights = "/data/v";
  EXPECT_EQ(decide(away).status.final_weights, "") << "the record of a completion alone counts";
  away.pods[0].is_completed = true;
  EXPECT_EQ(decide(away).status.final_weights, "/data/v");
}

TEST(Reconcile, TheStatusSaysWhereTheMembersSaveAndWhichImageReadsIt) {
  auto seen = test::running(test::job(2));
  seen.operator_image = "example.org/ratoon-operator:1";
  seen.processes[1].save_location = "/data/digits";
  seen.job.status = decide(seen).status;
  EXPECT_EQ(seen.job.status.save_location, "/data/digits") << "one process suffices";
  EXPECT_EQ(seen.job.status.operator_image, "example.org/ratoon-operator:1");

  seen.processes[1].save_location.clear();
  seen.operator_image.clear();
  const auto later = decide(seen).status;
  EXPECT_EQ(later.save_location, "/data/digits")
      << "a new leader has not heard it, and the files are still there";
  EXPECT_EQ(later.operator_image, "example.org/ratoon-operator:1");

  seen.job.status.phase = JobPhase::kFailed;
  seen.operator_image = "example.org/ratoon-operator:2";
  EXPECT_EQ(decide(seen).status.operator_image, "example.org/ratoon-operator:1")
      << "an upgrade writes no status of a job that is over";
}

TEST(Reconcile, TheStatusSaysWhyTheProgramEndedTheRunEarly) {
  auto seen = test::running(test::job(2));
  seen.processes[1] = test::done(process(1));
  seen.processes[1].finish_reason = "the loss no longer falls";
  seen.job.status = decide(seen).status;
  seen.processes = {test::done(process(0)), test::done(process(1))};  // another operator hears no reason
  const auto decision = decide(seen);
  EXPECT_EQ(decision.status.finish_reason, "the loss no longer falls");
  EXPECT_EQ(decision.status.message, "completed at step 0: the loss no longer falls");

  auto away = test::running(test::job(1));
  away.processes.clear();
  away.pods[0] = test::ended_pod(0, 0);
  away.pods[0].finish_reason = "enough";
  EXPECT_EQ(decide(away).status.finish_reason, "") << "only the record of a completion counts";
  away.pods[0].is_completed = true;
  EXPECT_EQ(decide(away).status.finish_reason, "enough");
}

TEST(Reconcile, AReplacedPodDoesNotOutliveTheJob) {
  auto seen = test::running(test::job(1));
  seen.job.status.members[0] = {.role = "worker", .index = 0, .incarnation = 1, .uid = test::uid_of(0, 1)};
  seen.pods = {test::pod(0, 0), test::pod(0, 1)};
  seen.processes = {test::done(process(0, 1))};
  EXPECT_EQ(reasons(decide(seen)), Reasons({"delete digits-worker-0-i0", "Succeeded"}));
}

TEST(Reconcile, AFatalCodeEndsTheJobAndItsPods) {
  auto seen = test::running(test::job(2));
  seen.pods[0] = test::ended_pod(0, 82);
  const auto decision = decide(seen);
  EXPECT_EQ(reasons(decision), Reasons({"MemberLost", "delete digits-worker-1-i0", "Failed"}));
  EXPECT_EQ(decision.status.phase, JobPhase::kFailed);
  EXPECT_TRUE(decision.announcement.stop);
}

TEST(Reconcile, TheEndIsFinal) {
  for (const auto phase : {JobPhase::kSucceeded, JobPhase::kFailed}) {
    auto seen = test::running(test::job(2));
    seen.job.status.phase = phase;
    seen.job.status.is_world_formed = false;
    seen.job.status.world_size = 0;
    seen.job.status.message = "over";
    seen.job.status.completed_at = WallTime{std::chrono::seconds(7)};
    seen.pods = {test::ended_pod(0, 1), test::ended_pod(1, 137)};
    const auto decision = decide(seen);
    EXPECT_EQ(decision.status, seen.job.status);
    EXPECT_TRUE(decision.actions.empty());
    EXPECT_TRUE(decision.announcement.stop);
    EXPECT_EQ(decision.announcement.reason, "over");
  }
}

// The status was restored from a backup, or edited by hand.
TEST(Reconcile, AStatusThatWentBackLeadsToANewerWorldThanTheMembersAreIn) {
  for (const bool is_lost : {true, false}) {
    auto seen = test::running(test::job(2));
    for (auto& process : seen.processes) process.beat = test::beat(process.identity, 7, 300);
    for (auto& seat : seen.world) seat.assignment.attempt = Attempt(7);
    if (is_lost) {
      seen.job.status = {};
    } else {
      seen.job.status.attempt = Attempt(3);
    }
    const auto decision = reconcile(seen, test::at_seconds(1));
    EXPECT_EQ(decision.announcement.attempt, Attempt(8)) << is_lost;
    EXPECT_EQ(decision.status.attempt, Attempt(8));
    EXPECT_FALSE(decision.status.is_world_formed);
  }
}

}  // namespace
}  // namespace ratoon::core::reconcile_test
