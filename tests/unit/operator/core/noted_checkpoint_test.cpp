// A checkpoint that only the status records: the processes that saw it committed are gone, and those that
// wait began to do so before the commit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/contract/resume_point.h"
#include "operator/core/reconcile.h"
#include "tests/support/operator_builders.h"

namespace ratoon::core::noted_checkpoint_test {
namespace {

using test::process;

// Attempt 1 saved step 20 on `tier` and is over; both members wait.
Observation waiting(const std::string& tier, std::uint64_t left_attempt) {
  auto job = test::job(2);
  job.status.attempt = Attempt(2);
  job.status.is_world_formed = false;
  job.status.last_checkpoint = ResumePoint{.attempt = Attempt(1), .step = Step(20), .digest = "d"};
  job.status.last_checkpoint_tier = tier;
  Observation seen = test::running(std::move(job));
  seen.world.clear();
  seen.processes = {test::waiting(process(0), left_attempt), test::waiting(process(1), left_attempt)};
  return seen;
}

TEST(NotedCheckpoint, OnASharedTierIsResumedThoughNobodyWhoWaitsSawIt) {
  for (const char* tier : {"volume", "store"}) {
    const auto decision = reconcile(waiting(tier, 0), test::at_seconds(1));
    EXPECT_EQ(decision.status.phase, api::JobPhase::kRunning) << decision.status.message;
    ASSERT_EQ(decision.announcement.world.size(), 2U);
    EXPECT_EQ(decision.announcement.world[0].assignment.resume,
              (ResumePoint{.attempt = Attempt(1), .step = Step(20), .digest = "d"}));
    EXPECT_EQ(decision.status.last_checkpoint_tier, tier);
  }
}

TEST(NotedCheckpoint, ElsewhereItIsGoneWithThoseWhoHeldIt) {
  for (const char* tier : {"", "local", "staged"})
    EXPECT_EQ(reconcile(waiting(tier, 0), test::at_seconds(1)).status.phase, api::JobPhase::kFailed) << tier;
}

TEST(NotedCheckpoint, WhoLookedForItLaterAndMissesItIsBelieved) {
  auto seen = waiting("volume", 0);
  seen.job.status.attempt = Attempt(3);
  seen.processes[1].join_request->left_attempt = Attempt(1);
  EXPECT_EQ(reconcile(seen, test::at_seconds(1)).status.phase, api::JobPhase::kRunning)
      << "it may have left before the others committed";
  seen.processes[1].join_request->left_attempt = Attempt(2);
  const auto decision = reconcile(seen, test::at_seconds(1));
  EXPECT_EQ(decision.status.phase, api::JobPhase::kFailed);
  EXPECT_TRUE(
      decision.status.message.starts_with("the checkpoint of step 20 was durable and cannot be found"));
}

// Its heartbeats repeat the commit from which it resumed, and the checkpoint was removed later. A world that
// resumed this checkpoint could not load it, and would form again for ever.
TEST(NotedCheckpoint, AnOldCommitIsNotBelievedAgainstTheListOfItsProcess) {
  auto seen = waiting("volume", 2);
  seen.job.status.attempt = Attempt(3);
  seen.job.status.last_checkpoint = test::resume_point(1, 20);
  for (auto& one : seen.processes) {
    one.join_request->inventory = {test::checkpoint(1, 10)};
    one.beat = test::beat(one.identity, 2, 20, 1, test::checkpoint(1, 20));
  }
  auto decision = reconcile(seen, test::at_seconds(1));
  ASSERT_EQ(decision.announcement.world.size(), 2U) << decision.status.message;
  EXPECT_EQ(decision.announcement.world[0].assignment.resume, test::resume_point(1, 10));
  for (auto& one : seen.processes) one.join_request->left_attempt = Attempt(1);
  decision = reconcile(seen, test::at_seconds(1));
  ASSERT_EQ(decision.announcement.world.size(), 2U);
  EXPECT_EQ(decision.announcement.world[0].assignment.resume, test::resume_point(1, 20))
      << "its list may be older than the commit";
}

// Member 0 of an elastic job was in attempt 2, and its list lacks the checkpoint of attempt 1.
Observation one_of_two_misses_it() {
  auto seen = waiting("volume", 2);
  seen.job.status.attempt = Attempt(3);
  seen.job.status.world_awaited_since = test::wall(0);
  seen.job.spec.elastic_policy = {.members_min = 1, .shrink_after_seconds = 0, .grow_cooldown_seconds = 0};
  seen.wall_now = test::wall(60);
  for (auto& one : seen.processes) one.last_heard = one.checkpoints_listed_at = test::at_seconds(60);
  return seen;
}

TEST(NotedCheckpoint, AMemberThatFellSilentIsAskedBeforeItCountsAsLost) {
  auto seen = one_of_two_misses_it();
  seen.processes[1].join_request->inventory = {test::checkpoint(1, 20)};
  seen.processes[1].last_heard = test::at_seconds(0);
  seen.job.status.last_checkpoint = test::resume_point(1, 20);
  seen.job.spec.start_deadline_seconds = 0;
  seen.processes[1].has_been_in_world = false;
  auto decision = reconcile(seen, test::at_seconds(60));
  EXPECT_EQ(decision.status.phase, api::JobPhase::kRecovering) << decision.status.message;
  EXPECT_TRUE(decision.announcement.world.empty());
  EXPECT_THAT(decision.status.message,
              testing::HasSubstr("; no ready member finds the checkpoint of step 20, which was durable: the "
                                 "world forms when 1 more process can be asked for it"));
  seen.processes[0].checkpoints_listed_at = test::at_seconds(50);
  const auto later = reconcile(seen, test::at_seconds(60));
  EXPECT_EQ(later.announcement.checkpoint_lists_valid_from, test::at_seconds(60))
      << "the checkpoint may be restored";
  EXPECT_EQ(later.status.message, decision.status.message);
  seen.processes[0].checkpoints_listed_at = test::at_seconds(60);
  seen.processes[1].last_heard = test::at_seconds(60);
  decision = reconcile(seen, test::at_seconds(60));
  ASSERT_EQ(decision.announcement.world.size(), 2U) << decision.status.message;
  EXPECT_EQ(decision.announcement.world[0].assignment.resume, test::resume_point(1, 20));
}

// It was left out of the last world, and its program starts slowly or its pod has no node yet.
TEST(NotedCheckpoint, AMemberThatTheWorldLeavesOutIsAskedBeforeItCountsAsLost) {
  for (const bool has_node : {true, false}) {
    auto seen = one_of_two_misses_it();
    auto& second = seen.job.status.members[1];
    second.is_absent = true;
    if (!has_node) second.node = seen.pods[1].node = "";
    const auto silent = seen.processes.back();
    seen.processes.pop_back();
    EXPECT_EQ(reconcile(seen, test::at_seconds(60)).status.phase, api::JobPhase::kRecovering);
    seen.processes.push_back(silent);
    EXPECT_EQ(reconcile(seen, test::at_seconds(60)).status.phase, api::JobPhase::kFailed) << "all were asked";
  }
}

TEST(NotedCheckpoint, AMemberBeyondTheRequestedNumberIsAskedIfItHasANode) {
  for (const bool has_node : {true, false}) {
    auto seen = one_of_two_misses_it();
    seen.job.spec.num_nodes = 1;
    seen.job.spec.elastic_policy->members_max = 2;
    auto& second = seen.job.status.members[1];
    second.is_absent = true;
    if (!has_node) second.node = seen.pods[1].node = "";
    seen.processes.pop_back();
    EXPECT_EQ(reconcile(seen, test::at_seconds(60)).status.phase,
              has_node ? api::JobPhase::kRecovering : api::JobPhase::kFailed);
  }
}

TEST(NotedCheckpoint, WhoSaysThatItIsDamagedIsBelieved) {
  auto seen = waiting("volume", 0);
  auto damaged = test::checkpoint(1, 20);
  damaged.is_complete = false;
  seen.processes[0].join_request->inventory = {damaged};
  EXPECT_EQ(reconcile(seen, test::at_seconds(1)).status.phase, api::JobPhase::kFailed);
}

TEST(NotedCheckpoint, WhoGaveItUpIsBelievedAndItIsNoDamage) {
  for (const bool is_wished : {true, false}) {
    auto seen = waiting("volume", 0);
    auto gone = test::checkpoint(1, 20);
    gone.is_complete = false;
    if (is_wished) gone.digest = kAbandonedDigest;
    seen.processes[0].join_request->inventory = {test::checkpoint(1, 10), gone};
    const auto decision = reconcile(seen, test::at_seconds(1));
    ASSERT_EQ(decision.announcement.world.size(), 2U) << decision.status.message;
    EXPECT_EQ(decision.announcement.world[0].assignment.resume, test::resume_point(1, 10));
    EXPECT_EQ(decision.status.last_checkpoint, test::resume_point(1, 10)) << "not asked for again";
    const EmitEvent told{
        .is_warning = !is_wished,
        .reason = is_wished ? "RolledBack" : "CheckpointUnreadable",
        .message =
            is_wished ? "the checkpoint of step 20 is given up by --resume-from; the run goes back to step 10"
                      : "the checkpoint of step 20 cannot be read; the run goes back to step 10"};
    EXPECT_THAT(decision.actions, testing::Contains(testing::VariantWith<EmitEvent>(told)));
  }
}

// Three members were done, and the last one's disk does not return the checkpoint with which they were done.
TEST(NotedCheckpoint, WhoWasDoneWithOneThatIsLostBeginsAnew) {
  auto seen = waiting("volume", 0);
  seen.job.status.step = Step(20);
  seen.job.status.members[1].is_completed = true;
  seen.processes.pop_back();
  seen.processes[0].join_request->inventory = {test::checkpoint(1, 10), test::checkpoint(1, 20)};
  auto decision = reconcile(seen, test::at_seconds(1));
  ASSERT_EQ(decision.announcement.world.size(), 1U) << "it has the last one";
  EXPECT_TRUE(decision.status.members[1].is_completed);

  seen.processes[0].join_request->inventory[1].is_complete = false;
  decision = reconcile(seen, test::at_seconds(1));
  EXPECT_TRUE(decision.status.members[1].is_completed) << "it is not known when: the list may be older";
  EXPECT_EQ(decision.announcement.checkpoint_lists_valid_from, test::at_seconds(1));
  seen.checkpoint_lists_valid_from = decision.announcement.checkpoint_lists_valid_from;
  seen.processes[0].checkpoints_listed_at = test::at_seconds(1.1);
  decision = reconcile(seen, test::at_seconds(1.5));
  EXPECT_EQ(decision.announcement.world.size(), 0U) << "of a job of two one alone would train";
  EXPECT_FALSE(decision.status.members[1].is_completed);
  EXPECT_EQ(decision.status.members[1].incarnation, 1U);
  EXPECT_EQ(decision.announcement.current[1].incarnation, 1U) << "and may speak";
  EXPECT_EQ(decision.wake_at, test::at_seconds(1.5)) << "its pod is made at once";
  const EmitEvent told{.is_warning = true,
                       .reason = "CheckpointUnreadable",
                       .message =
                           "the checkpoint of step 20, with which 1 member was done, can no longer be "
                           "loaded: the run goes on from step 10 with all members"};
  EXPECT_THAT(test::only<EmitEvent>(decision), testing::Contains(told));
}

// One process completed step 20 after the end of its world, and the lists of the others end with step 10.
Observation completed_in_part() {
  auto seen = waiting("volume", 0);
  seen.job.spec.processes_per_node = 2;
  seen.job.status.step = Step(10);
  seen.job.status.last_checkpoint = test::resume_point(1, 10);
  seen.processes = {test::waiting(process(0, 0, 0)), test::waiting(process(0, 0, 1)),
                    test::done(process(1, 0, 0)), test::waiting(process(1, 0, 1))};
  for (auto& one : seen.processes) {
    one.checkpoints_listed_at = test::at_seconds(0.5);
    if (one.join_request) one.join_request->inventory = {test::checkpoint(1, 10)};
  }
  seen.processes[2].beat = test::beat(process(1, 0, 0), 1, 20);
  return seen;
}

// The checkpoint with which it was done may be reported by itself alone, after the end of its world.
TEST(NotedCheckpoint, WhoWasDoneLateOrInPartBeginsAnewToo) {
  const auto decision = reconcile(completed_in_part(), test::at_seconds(1));
  EXPECT_EQ(decision.announcement.world.size(), 0U);
  EXPECT_EQ(decision.status.members[1].incarnation, 1U);
  EXPECT_EQ(decision.status.members[1].done, 0U);
}

TEST(NotedCheckpoint, ListsFromBeforeACompletionAreReadAgainBeforeItIsRevoked) {
  auto seen = completed_in_part();
  seen.processes[2].completed_at = test::at_seconds(0.7);
  auto decision = reconcile(seen, test::at_seconds(1));
  EXPECT_EQ(decision.announcement.checkpoint_lists_valid_from, test::at_seconds(1));
  EXPECT_EQ(decision.status.members[1].incarnation, 0U);
  EXPECT_EQ(decision.status.members[1].done, 1U);
  test::store(decision, "node-1", seen);
  seen.processes[0].checkpoints_listed_at = test::at_seconds(1.1);
  seen.processes[2].last_heard = test::at_seconds(2.5);
  decision = reconcile(seen, test::at_seconds(2.5));
  EXPECT_EQ(decision.status.members[1].incarnation, 1U) << "its later beats are no completions";
}

// Another operator heard it, or the pod's record has it: it may be of any time until now.
TEST(NotedCheckpoint, ACompletionThatOnlyTheStatusKnowsIsNotRevokedWithoutNewLists) {
  auto seen = completed_in_part();
  seen.job.status.members[1].done = 1;
  seen.processes.erase(seen.processes.begin() + 2);
  seen.job.status.step = Step(20);
  auto decision = reconcile(seen, test::at_seconds(1));
  EXPECT_EQ(decision.announcement.checkpoint_lists_valid_from, test::at_seconds(1));
  EXPECT_EQ(decision.status.members[1].done, 1U);
  test::store(decision, "node-1", seen);
  decision = reconcile(seen, test::at_seconds(1.5));
  EXPECT_EQ(decision.announcement.checkpoint_lists_valid_from, test::at_seconds(1))
      << "a list that is being read is enough";
  EXPECT_EQ(decision.status.members[1].done, 1U);
  test::store(decision, "node-1", seen);
  seen.processes[1].checkpoints_listed_at = test::at_seconds(1.1);
  for (auto& one : seen.processes) one.last_heard = test::at_seconds(30);
  decision = reconcile(seen, test::at_seconds(30));
  EXPECT_EQ(decision.status.members[1].incarnation, 1U) << "reading it took long, and no list is newer";
}

TEST(NotedCheckpoint, ACompletionThatIsNewMovesTheTimeFromWhichListsAreAskedFor) {
  auto seen = completed_in_part();
  seen.checkpoint_lists_valid_from = test::at_seconds(0.2);
  seen.processes[2].completed_at = test::at_seconds(0.1);
  seen.processes[0].checkpoints_listed_at = test::at_seconds(0);
  for (auto& one : seen.processes) one.checkpoints_listed_at = test::at_seconds(0);
  EXPECT_EQ(reconcile(seen, test::at_seconds(1)).announcement.checkpoint_lists_valid_from,
            test::at_seconds(1));
}

// A world that was cut off has committed since then, and then it was lost.
TEST(NotedCheckpoint, WhoWaitsWithAnOldListLooksAgainBeforeAWorldIsFormed) {
  auto seen = waiting("volume", 0);
  seen.processes[0].last_heard = seen.processes[1].last_heard = test::at_seconds(102);
  seen.processes[0].checkpoints_listed_at = test::at_seconds(50);
  seen.processes[1].checkpoints_listed_at = test::at_seconds(100);
  EXPECT_EQ(reconcile(seen, test::at_seconds(102)).announcement.world.size(), 2U);
  auto decision = reconcile(seen, test::at_seconds(102.1));
  EXPECT_EQ(decision.announcement.world.size(), 0U);
  EXPECT_EQ(decision.announcement.checkpoint_lists_valid_from, test::at_seconds(102.1));
  seen.processes[0].checkpoints_listed_at = test::at_seconds(102.2);
  EXPECT_EQ(reconcile(seen, test::at_seconds(102.2)).announcement.world.size(), 2U) << "one list is enough";
}

// A large store answers after 5 s, and others look at the job meanwhile.
TEST(NotedCheckpoint, AListThatTakesLongToReadIsNewIfItWasAskedFor) {
  auto seen = waiting("volume", 0);
  for (auto& one : seen.processes) one.checkpoints_listed_at = test::at_seconds(50);
  for (const double at : {100.0, 102.0, 104.0}) {
    for (auto& one : seen.processes) one.last_heard = test::at_seconds(at);
    const auto decision = reconcile(seen, test::at_seconds(at));
    EXPECT_EQ(decision.announcement.checkpoint_lists_valid_from, test::at_seconds(100)) << at;
    test::store(decision, "node-1", seen);
  }
  for (auto& one : seen.processes) one.last_heard = test::at_seconds(105.2);
  seen.processes[0].checkpoints_listed_at = test::at_seconds(100.1);
  EXPECT_EQ(reconcile(seen, test::at_seconds(105.2)).announcement.world.size(), 2U);
  seen.checkpoint_lists_valid_from.reset();
  EXPECT_EQ(reconcile(seen, test::at_seconds(105.2)).announcement.world.size(), 0U) << "it is of before";
}

// The pod of a former job of this name has not ended yet.
TEST(NotedCheckpoint, AListOfAStrangerMakesNoOtherListNew) {
  auto seen = waiting("volume", 0);
  for (auto& one : seen.processes) {
    one.checkpoints_listed_at = test::at_seconds(50);
    one.last_heard = test::at_seconds(100);
  }
  auto stranger = test::waiting(process(1), 0);
  stranger.identity.member_uid = stranger.join_request->process.member_uid = "of before";
  stranger.checkpoints_listed_at = stranger.last_heard = test::at_seconds(100);
  seen.processes.push_back(std::move(stranger));
  const auto decision = reconcile(seen, test::at_seconds(100));
  EXPECT_EQ(decision.announcement.world.size(), 0U);
  EXPECT_EQ(decision.announcement.checkpoint_lists_valid_from, test::at_seconds(100));
}

TEST(NotedCheckpoint, WhoIsToldOfARollbackAloneGetsNoWorld) {
  auto seen = waiting("volume", 0);
  for (auto& process : seen.processes)
    process.join_request->rollback = RollbackRequest{.resume_from = Step(20), .skip = 5};
  EXPECT_EQ(reconcile(seen, test::at_seconds(1)).status.phase, api::JobPhase::kRunning) << "all say it";
  seen.processes[1].join_request->rollback.reset();
  const auto decision = reconcile(seen, test::at_seconds(1));
  EXPECT_EQ(decision.status.phase, api::JobPhase::kFailed);
  EXPECT_TRUE(decision.announcement.world.empty());
  EXPECT_TRUE(decision.status.message.starts_with(
      "rank 0 was started with --resume-from 20 --skip 5 and rank 1 with no"))
      << decision.status.message;
}

}  // namespace
}  // namespace ratoon::core::noted_checkpoint_test
