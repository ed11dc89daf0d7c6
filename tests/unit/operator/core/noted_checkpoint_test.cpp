// A checkpoint that only the status remembers: those who saw it committed are gone, and those who wait began
// to before it was.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/contract/resume_point.h"
#include "operator/core/reconcile.h"
#include "tests/support/operator_builders.h"

namespace ratoon::core::noted_checkpoint_test {
namespace {

using test::process;

// Attempt 1 saved step 20 on `tier` and is gone; both members wait.
Observation waiting(const std::string& tier, std::uint64_t left_attempt) {
  auto job = test::job(2);
  job.status.attempt = Attempt(2);
  job.status.is_formed = false;
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
  seen.processes[1].waiting->left_attempt = Attempt(1);
  EXPECT_EQ(reconcile(seen, test::at_seconds(1)).status.phase, api::JobPhase::kRunning)
      << "it may have left before the others committed";
  seen.processes[1].waiting->left_attempt = Attempt(2);
  const auto decision = reconcile(seen, test::at_seconds(1));
  EXPECT_EQ(decision.status.phase, api::JobPhase::kFailed);
  EXPECT_TRUE(
      decision.status.message.starts_with("the checkpoint of step 20 was durable and cannot be found"));
}

TEST(NotedCheckpoint, WhoSaysThatItIsDamagedIsBelieved) {
  auto seen = waiting("volume", 0);
  auto damaged = test::checkpoint(1, 20);
  damaged.is_complete = false;
  seen.processes[0].waiting->inventory = {damaged};
  EXPECT_EQ(reconcile(seen, test::at_seconds(1)).status.phase, api::JobPhase::kFailed);
}

TEST(NotedCheckpoint, WhoGaveItUpIsBelievedAndItIsNoDamage) {
  for (const bool is_wished : {true, false}) {
    auto seen = waiting("volume", 0);
    auto gone = test::checkpoint(1, 20);
    gone.is_complete = false;
    if (is_wished) gone.digest = kGivenUp;
    seen.processes[0].waiting->inventory = {test::checkpoint(1, 10), gone};
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

TEST(NotedCheckpoint, WhoIsToldOfARollbackAloneGetsNoWorld) {
  auto seen = waiting("volume", 0);
  for (auto& process : seen.processes)
    process.waiting->rollback = RollbackWish{.resume_from = Step(20), .skip = 5};
  EXPECT_EQ(reconcile(seen, test::at_seconds(1)).status.phase, api::JobPhase::kRunning) << "all say it";
  seen.processes[1].waiting->rollback.reset();
  const auto decision = reconcile(seen, test::at_seconds(1));
  EXPECT_EQ(decision.status.phase, api::JobPhase::kFailed);
  EXPECT_TRUE(decision.announcement.world.empty());
  EXPECT_TRUE(decision.status.message.starts_with("rank 0 has --resume-from 20 --skip 5 and rank 1 has no"))
      << decision.status.message;
}

}  // namespace
}  // namespace ratoon::core::noted_checkpoint_test
