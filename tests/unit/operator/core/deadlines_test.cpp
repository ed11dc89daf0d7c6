#include "operator/core/loss/deadlines.h"

#include <chrono>

#include <gtest/gtest.h>

#include "operator/core/reconcile.h"
#include "tests/support/operator_builders.h"

namespace ratoon::core::deadlines_test {
namespace {

using std::chrono::seconds;
using test::process;
using test::wall;

Decision decide(const Observation& seen) {
  return reconcile(seen, test::at_seconds(1));
}

std::uint32_t incarnation(const Decision& decision, std::size_t member) {
  return decision.status.members.at(member).incarnation;
}

// Member 0 waits, member 1 runs and sends no message.
Observation one_is_mute() {
  auto seen = test::running(test::job(2));
  seen.job.spec.start_deadline_seconds = 60;
  seen.job.spec.disruption_policy.suspect_after_seconds = 3600;
  seen.job.status.is_world_formed = false;
  seen.world.clear();
  seen.processes = {test::waiting(process(0))};
  seen.wall_now = wall(100);
  seen.listening_since = test::at_seconds(-3600);
  return seen;
}

TEST(StartDeadline, BeginsWhenAPodRunsAndEndsWithAWord) {
  auto seen = one_is_mute();
  EXPECT_EQ(decide(seen).status.members[0].first_message_awaited_since, std::nullopt);
  EXPECT_EQ(decide(seen).status.members[1].first_message_awaited_since, wall(100));
  seen.job.status.members[1].first_message_awaited_since = wall(90);
  EXPECT_EQ(decide(seen).status.members[1].first_message_awaited_since, wall(90));
  EXPECT_EQ(*decide(seen).wake_at, test::at_seconds(51));
  seen.processes.push_back(test::heard(process(1)));
  EXPECT_EQ(decide(seen).status.members[1].first_message_awaited_since, std::nullopt);
  seen.processes.pop_back();
  seen.pods[1].phase = api::PodPhase::kPending;
  EXPECT_EQ(decide(seen).status.members[1].first_message_awaited_since, std::nullopt)
      << "an image may take its time";
}

TEST(StartDeadline, WhoNeverSpeaksIsMadeAnewAndCounted) {
  auto seen = one_is_mute();
  seen.job.status.members[1].first_message_awaited_since = wall(41);
  EXPECT_EQ(incarnation(decide(seen), 1), 0U);
  seen.job.status.members[1].first_message_awaited_since = wall(40);
  const auto decision = decide(seen);
  EXPECT_EQ(incarnation(decision, 1), 1U);
  EXPECT_EQ(decision.status.restarts.application, 1U);
  EXPECT_EQ(decision.status.members[1].first_message_awaited_since, std::nullopt);
  seen.job.spec.start_deadline_seconds = 0;
  EXPECT_EQ(incarnation(decide(seen), 1), 0U);
  EXPECT_EQ(decide(seen).status.members[1].first_message_awaited_since, std::nullopt);
}

// A network policy separates them from the operator, and the programs run.
TEST(StartDeadline, WhereNoProcessOfTheJobIsHeardNoProgramFailed) {
  auto seen = one_is_mute();
  seen.job.status.members[0].first_message_awaited_since = wall(40);
  seen.job.status.members[1].first_message_awaited_since = wall(40);
  seen.processes.clear();
  auto decision = decide(seen);
  EXPECT_EQ(incarnation(decision, 0), 1U);
  EXPECT_EQ(incarnation(decision, 1), 1U);
  EXPECT_EQ(decision.status.restarts.application, 0U);
  EXPECT_EQ(decision.status.restarts.disruption, 2U);
  EXPECT_EQ(decision.status.restarts.losses_without_step, 0U) << "the job set no limit";
  seen.job.spec.restart_policy.is_losses_without_step_max_set = true;
  EXPECT_EQ(decide(seen).status.restarts.losses_without_step, 2U) << "it is bounded";
  seen.processes = {test::heard(process(0))};
  seen.processes[0].last_heard = test::at_seconds(-60);
  EXPECT_EQ(decide(seen).status.restarts.application, 0U) << "it spoke before that";
  seen.processes[0].last_heard = test::at_seconds(-59);
  EXPECT_EQ(decide(seen).status.restarts.application, 1U);
}

TEST(StartDeadline, MembersThatAreLateTogetherAreOneFailure) {
  auto seen = one_is_mute();
  seen.job.spec.num_nodes = 3;
  seen.job.status.members.push_back({.role = "worker", .index = 2, .uid = test::uid_of(2, 0)});
  seen.pods.push_back(test::pod(2));
  for (const std::size_t late : {1U, 2U})
    seen.job.status.members[late].first_message_awaited_since = wall(40);
  const auto decision = decide(seen);
  EXPECT_EQ(incarnation(decision, 1), 1U);
  EXPECT_EQ(incarnation(decision, 2), 1U);
  EXPECT_EQ(decision.status.restarts.application, 1U);
  EXPECT_EQ(decision.status.restarts.disruption, 1U);
}

// No operator existed for longer than the deadline: the member has waited since then, and the way to the new
// operator may be seconds late.
TEST(StartDeadline, NoMemberIsLateForAnOperatorThatHasJustBegunToListen) {
  auto seen = one_is_mute();
  seen.job.spec.disruption_policy.suspect_after_seconds = 3;
  seen.job.status.members[1].first_message_awaited_since = wall(10);
  seen.processes[0].last_heard = test::at_seconds(1);
  seen.listening_since = test::at_seconds(-28);
  EXPECT_EQ(incarnation(decide(seen), 1), 0U);
  EXPECT_LE(*decide(seen).wake_at, test::at_seconds(2)) << "it listens for as long as many may be silent";
  seen.listening_since = test::at_seconds(-29);
  const auto decision = decide(seen);
  EXPECT_EQ(incarnation(decision, 1), 1U);
  EXPECT_EQ(decision.status.restarts.application, 0U) << "it may have spoken while no operator was there";
  EXPECT_EQ(decision.status.restarts.disruption, 1U);
  seen.listening_since = test::at_seconds(-59);
  EXPECT_EQ(decide(seen).status.restarts.application, 1U) << "the operator has listened for the deadline";
}

TEST(StartDeadline, OneThatStartsWhileTheOperatorListensHasTheDeadlineAlone) {
  auto seen = one_is_mute();
  seen.job.spec.disruption_policy.suspect_after_seconds = 30;
  seen.job.status.members[1].first_message_awaited_since = wall(40);
  seen.listening_since = test::at_seconds(-60);  // at 39 by the wall
  EXPECT_EQ(incarnation(decide(seen), 1), 1U);
}

TEST(StartDeadline, HalfAMemberHasNotSpoken) {
  auto seen = one_is_mute();
  seen.job.spec.processes_per_node = 2;
  seen.processes.push_back(test::heard(process(1, 0, 0)));
  EXPECT_EQ(decide(seen).status.members[1].first_message_awaited_since, wall(100));
  seen.processes.push_back(test::heard(process(1, 0, 1)));
  EXPECT_EQ(decide(seen).status.members[1].first_message_awaited_since, std::nullopt);
}

// Otherwise the decision would be repeated again and again, as its moment has passed.
TEST(StartDeadline, AStepOfTheOthersExcusesNobodyWhoIsToJoin) {
  auto seen = test::running(test::job(2));
  seen.job.spec.elastic_policy = {.members_min = 1};
  seen.job.spec.start_deadline_seconds = 60;
  seen.job.status.members[1].is_absent = true;
  seen.job.status.members[1].first_message_awaited_since = wall(40);
  seen.world.pop_back();
  seen.processes.pop_back();
  seen.processes[0].beat = test::beat(seen.processes[0].identity, 1, 7);
  seen.wall_now = wall(100);
  seen.listening_since = test::at_seconds(-3600);
  const auto decision = decide(seen);
  EXPECT_GT(decision.status.step, seen.job.status.step);
  EXPECT_EQ(decision.status.attempt, seen.job.status.attempt);
  EXPECT_EQ(incarnation(decision, 1), 1U);
}

TEST(StartDeadline, OfAWorldThatStandsSilenceIsTheJudge) {
  auto seen = test::running(test::job(2));
  seen.wall_now = wall(100);
  seen.world.clear();  // forgotten, and not all have been heard since
  seen.processes[0].beat = test::beat(process(0), 1, 7);
  seen.processes.pop_back();
  EXPECT_EQ(decide(seen).status.members[1].first_message_awaited_since, std::nullopt);
}

// Both train since 100; the last step was at 130.
Observation no_step(ProcessPhase first, ProcessPhase second) {
  auto seen = test::running(test::job(2));
  seen.job.spec.progress_deadline_seconds = 60;
  seen.job.spec.disruption_policy.suspect_after_seconds = 3600;
  seen.job.status.step = Step(7);
  seen.job.status.world_formed_at = wall(100);
  seen.job.status.last_step_at = wall(130);
  for (std::uint32_t i = 0; i < 2; ++i) {
    seen.processes[i].beat = test::beat(process(i), 1, 7);
    seen.processes[i].beat->phase = i == 0 ? first : second;
    seen.processes[i].last_progress_at = test::at_seconds(-3600);
  }
  seen.wall_now = wall(190);
  seen.listening_since = test::at_seconds(-3600);
  return seen;
}

TEST(ProgressDeadline, MakesAnewWhoIsNotInTheCollective) {
  auto seen = no_step(ProcessPhase::kCollective, ProcessPhase::kData);
  seen.wall_now = wall(189);
  EXPECT_EQ(incarnation(decide(seen), 1), 0U);
  EXPECT_EQ(*decide(seen).wake_at, test::at_seconds(2));
  seen.wall_now = wall(190);
  const auto decision = decide(seen);
  EXPECT_EQ(incarnation(decision, 0), 0U);
  EXPECT_EQ(incarnation(decision, 1), 1U);
  EXPECT_EQ(decision.status.restarts.application, 1U);
  EXPECT_EQ(decision.status.restarts.disruption, 0U);
}

TEST(ProgressDeadline, IsOneFailureWhereverItIs) {
  for (const auto phase : {ProcessPhase::kCollective, ProcessPhase::kUser}) {
    const auto decision = decide(no_step(phase, phase));
    EXPECT_EQ(incarnation(decision, 0), 1U);
    EXPECT_EQ(incarnation(decision, 1), 1U);
    EXPECT_EQ(decision.status.restarts.application, 1U);
    EXPECT_EQ(decision.status.restarts.disruption, 1U);
  }
}

TEST(ProgressDeadline, NoWorldHasStalledForAnOperatorThatHasJustBegunToListen) {
  auto seen = no_step(ProcessPhase::kCollective, ProcessPhase::kData);
  seen.job.spec.disruption_policy.suspect_after_seconds = 3;
  for (auto& process : seen.processes) process.last_heard = test::at_seconds(1);
  for (auto& process : seen.processes) process.last_progress_at = test::at_seconds(-3600);
  seen.wall_now = wall(1000);
  seen.listening_since = test::at_seconds(-1);
  EXPECT_EQ(incarnation(decide(seen), 1), 0U);
  EXPECT_GT(*decide(seen).wake_at, test::at_seconds(1)) << "and it is not looked at over and over";
  seen.listening_since = test::at_seconds(-2);
  EXPECT_EQ(incarnation(decide(seen), 1), 1U);
}

// No operator existed for longer than the deadline, and the way to this one is late: no member failed.
TEST(ProgressDeadline, NoWorldHasStalledBeforeAllOfItWereHeard) {
  auto seen = no_step(ProcessPhase::kCollective, ProcessPhase::kData);
  seen.job.spec.disruption_policy.suspect_after_seconds = 30;
  seen.wall_now = wall(1000);
  seen.listening_since = test::at_seconds(-200);
  seen.world.clear();
  seen.processes[0].last_heard = test::at_seconds(1);
  seen.processes[1].last_heard = test::at_seconds(-201);
  EXPECT_EQ(decide(seen).status.restarts.application, 0U);
  seen.processes.pop_back();
  EXPECT_EQ(decide(seen).status.restarts.application, 0U);
  EXPECT_EQ(incarnation(decide(seen), 0), 0U);
  seen.processes.clear();
  EXPECT_EQ(decide(seen).status.restarts.application, 0U);
  EXPECT_EQ(incarnation(decide(seen), 0), 0U);
}

// The network between the operator and the members is cut: they may make steps that are not reported.
TEST(ProgressDeadline, NoWorldHasStalledThatIsNotHeardNow) {
  auto seen = no_step(ProcessPhase::kCollective, ProcessPhase::kData);
  seen.job.spec.disruption_policy.suspect_after_seconds = 3;
  for (auto& process : seen.processes) process.last_heard = test::at_seconds(-2);
  EXPECT_EQ(decide(seen).status.restarts.application, 0U) << "both are silent";
  EXPECT_EQ(incarnation(decide(seen), 1), 0U) << "and the silence of many is waited for";
  seen.processes[0].last_heard = test::at_seconds(-1);
  EXPECT_EQ(decide(seen).status.restarts.application, 0U) << "the other one is lost by its silence";
  EXPECT_EQ(decide(seen).status.restarts.disruption, 1U);
  seen.processes[1].last_heard = test::at_seconds(-1);
  EXPECT_EQ(decide(seen).status.restarts.application, 1U) << "both are heard";
  for (auto& process : seen.processes) process.last_heard = test::at_seconds(-2);
  for (auto& seat : seen.world) seat.assignment.beat_seconds = 4;
  EXPECT_EQ(decide(seen).status.restarts.application, 1U) << "they were told to beat more slowly";
}

// A laptop slept for ten minutes: the wall clock is ahead, and the world made a step a moment ago.
TEST(ProgressDeadline, NoWorldHasStalledByTheWallsClockAlone) {
  auto seen = no_step(ProcessPhase::kCollective, ProcessPhase::kData);
  seen.wall_now = wall(130 + 600);
  seen.processes[1].last_progress_at = test::at_seconds(-58);
  const auto decision = decide(seen);
  EXPECT_EQ(incarnation(decision, 1), 0U);
  EXPECT_EQ(*decision.wake_at, test::at_seconds(2));
  seen.processes[1].last_progress_at = test::at_seconds(-59);
  EXPECT_EQ(incarnation(decide(seen), 1), 1U);
}

TEST(ProgressDeadline, IsNotForAWorldThatHasNoStepLeftToMake) {
  auto seen = no_step(ProcessPhase::kSave, ProcessPhase::kSave);
  seen.processes[0].beat->outlook = ProgressEstimate{.position = 6, .total = 7, .unit = "step", .loss = {}};
  EXPECT_EQ(incarnation(decide(seen), 1), 1U);
  seen.processes[0].beat->outlook->position = 7;
  EXPECT_EQ(incarnation(decide(seen), 1), 0U) << "rank 0 copies what it saved last";
  seen.processes[0].beat->attempt = Attempt(0);
  EXPECT_EQ(incarnation(decide(seen), 1), 1U) << "that was another world";
  seen.job.status.members[0].is_completed = true;
  EXPECT_EQ(incarnation(decide(seen), 1), 0U) << "one is done";
}

TEST(ProgressDeadline, IsPaidForThoughTheFirstOneEndsByItself) {
  auto seen = no_step(ProcessPhase::kUser, ProcessPhase::kUser);
  seen.pods[0].is_deleting = true;
  EXPECT_EQ(decide(seen).status.restarts.application, 1U);
  EXPECT_EQ(decide(seen).status.restarts.disruption, 1U);
}

TEST(ProgressDeadline, CountsFromTheWorldsBeginningAndFromEachStep) {
  auto seen = no_step(ProcessPhase::kCompute, ProcessPhase::kCompute);
  seen.job.status.world_formed_at = wall(131);
  EXPECT_EQ(incarnation(decide(seen), 0), 0U) << "the last step was another world's";
  seen = no_step(ProcessPhase::kCompute, ProcessPhase::kCompute);
  seen.processes[0].beat->step = Step(8);
  const auto decision = decide(seen);
  EXPECT_EQ(incarnation(decision, 0), 0U);
  EXPECT_EQ(decision.status.last_step_at, wall(190));
  seen = no_step(ProcessPhase::kCompute, ProcessPhase::kCompute);
  seen.job.spec.progress_deadline_seconds = 0;
  EXPECT_EQ(incarnation(decide(seen), 0), 0U) << "unless asked for there is none";
}

TEST(Losses, WithoutAStepEndAJobAsItsPolicySays) {
  auto seen = test::running(test::job(2));
  seen.job.spec.restart_policy.losses_without_step_max = 3;
  seen.job.status.restarts.losses_without_step = 5;
  seen.pods[1] = test::ended_pod(1, 137);
  EXPECT_NE(decide(seen).status.phase, api::JobPhase::kFailed);
  seen.job.status.restarts.losses_without_step = 6;
  EXPECT_EQ(decide(seen).status.phase, api::JobPhase::kFailed);
}

// `ratoon launch` restarts crashed processes in their pod: no member is lost, and the world ends all the
// same.
TEST(Losses, ProcessesThatAreStartedAnewInTheirPodsAreCounted) {
  auto seen = test::running(test::job(2));
  seen.job.spec.restart_policy.losses_without_step_max = 3;
  seen.job.status.restarts.losses_without_step = 5;
  EXPECT_EQ(decide(seen).status.restarts.losses_without_step, 5U);
  seen.processes[1].identity.start = "the next";
  auto decision = decide(seen);
  EXPECT_EQ(decision.status.restarts.losses_without_step, 6U);
  EXPECT_EQ(decision.status.restarts.disruption, 0U);
  EXPECT_FALSE(decision.status.is_world_formed);
  auto later = seen;
  later.job.status = decision.status;
  later.world.clear();
  EXPECT_EQ(decide(later).status.restarts.losses_without_step, 6U) << "once for each world";
  auto advanced = seen;
  advanced.processes[0].beat = test::beat(process(0), 1, 7);
  EXPECT_EQ(decide(advanced).status.restarts.losses_without_step, 1U);
  auto resting = seen;
  resting.job.spec.is_suspended = true;
  EXPECT_EQ(decide(resting).status.restarts.losses_without_step, 5U) << "a world that saves stands on";
  auto lost = seen;
  lost.pods[1] = test::ended_pod(1, 137);
  EXPECT_EQ(decide(lost).status.restarts.losses_without_step, 6U) << "the member is counted as lost";
  seen.job.status.restarts.losses_without_step = 6;
  decision = decide(seen);
  EXPECT_EQ(decision.status.phase, api::JobPhase::kFailed);
  EXPECT_TRUE(decision.status.message.ends_with("a process that its launcher restarted in its pod"))
      << decision.status.message;
}

TEST(Losses, AMemberWhoseProcessesAreAllStartedAnewIsCountedOnce) {
  auto seen = test::running(test::job(1));
  seen.job.spec.processes_per_node = 2;
  seen.processes.push_back(seen.processes[0]);
  seen.processes[1].identity.local_rank = 1;
  seen.world.push_back(seen.world[0]);
  seen.world[1].process.local_rank = 1;
  for (auto& process : seen.processes) process.identity.start = "the next";
  EXPECT_EQ(decide(seen).status.restarts.losses_without_step, 1U);
}

// Nodes go before anything is saved: the same steps are made again and again, and no progress is made.
TEST(Losses, StepsThatAreMadeAgainAreNoStepForward) {
  auto seen = test::running(test::job(2));
  auto& status = seen.job.status;
  seen.job.spec.restart_policy.losses_without_step_max = 3;
  status.restarts.losses_without_step = 6;
  status.step = Step(10);
  status.ledger.newest_step = Step(20);
  seen.pods[1] = test::ended_pod(1, 137);
  seen.processes[0].beat = test::beat(process(0), status.attempt.value(), 20);
  EXPECT_EQ(decide(seen).status.phase, api::JobPhase::kFailed);
  auto ahead = seen;
  ahead.processes[0].beat->step = Step(21);
  EXPECT_EQ(decide(ahead).status.restarts.losses_without_step, 1U) << "this one is new";
  auto saved = seen;
  saved.processes[0].beat->committed = InventoryEntry{
      .tier = "shared", .attempt = status.attempt, .step = Step(15), .digest = "d", .is_complete = true};
  EXPECT_EQ(decide(saved).status.restarts.losses_without_step, 1U) << "a run that was sent back gets on";
}

}  // namespace
}  // namespace ratoon::core::deadlines_test
