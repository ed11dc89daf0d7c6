#include "operator/core/policy/time_limit.h"

#include <chrono>

#include <gtest/gtest.h>

#include "operator/core/reconcile.h"
#include "tests/support/operator_builders.h"

namespace ratoon::core::time_limit_test {
namespace {

using api::JobPhase;
using std::chrono::seconds;
using test::wall;

Decision decide(const Observation& seen) {
  return reconcile(seen, test::at_seconds(1));
}

// It trains since 100 and may take 60 s.
Observation timed(int now) {
  auto seen = test::running(test::job(2));
  seen.job.spec.max_duration_seconds = 60;
  seen.job.status.active_since = wall(100);
  seen.wall_now = wall(now);
  return seen;
}

TEST(MaxDuration, RunsFromTheFirstLook) {
  Observation seen{.job = test::new_job(2)};
  seen.wall_now = wall(100);
  EXPECT_EQ(decide(seen).status.active_since, wall(100));
}

TEST(MaxDuration, SavesAndThenFails) {
  EXPECT_EQ(decide(timed(159)).status.phase, JobPhase::kRunning);
  EXPECT_EQ(*decide(timed(159)).wake_at, test::at_seconds(2));
  auto seen = timed(160);
  auto decision = decide(seen);
  EXPECT_EQ(decision.status.phase, JobPhase::kRunning);
  EXPECT_TRUE(decision.announcement.hand_over);
  EXPECT_TRUE(decision.actions.empty());
  seen.job.status = decision.status;
  seen.processes = {test::waiting(test::process(0), 1, {test::checkpoint(1, 30)}),
                    test::waiting(test::process(1), 1)};
  decision = decide(seen);
  EXPECT_EQ(decision.status.phase, JobPhase::kFailed);
  EXPECT_EQ(decision.status.message,
            "maxDurationSeconds (60) is over; the checkpoint of step 30 is the newest");
  EXPECT_TRUE(decision.announcement.stop);
}

TEST(MaxDuration, IsNotWaitedForWithoutEnd) {
  auto seen = timed(220);
  seen.job.status.suspending_since = wall(160);
  EXPECT_EQ(decide(seen).status.phase, JobPhase::kFailed);
  EXPECT_EQ(decide(seen).status.message, "maxDurationSeconds (60) is over; nothing was saved");
}

TEST(MaxDuration, StandsStillWhileTheJobIsSuspended) {
  auto seen = timed(130);
  seen.job.spec.is_suspended = true;
  seen.processes = {test::waiting(test::process(0), 1), test::waiting(test::process(1), 1)};
  auto decision = decide(seen);
  EXPECT_FALSE(decision.status.is_world_formed);
  EXPECT_EQ(decision.status.active_seconds, 30U);
  EXPECT_EQ(decision.status.active_since, std::nullopt);
  Observation later{.job = seen.job};
  later.job.status = decision.status;
  later.job.spec.is_suspended = false;
  later.wall_now = wall(1000);
  decision = decide(later);
  EXPECT_EQ(decision.status.phase, JobPhase::kRecovering);
  EXPECT_EQ(time_limit_end(later.job.spec, decision.status), wall(1030));
}

TEST(MaxDuration, AClockThatWasSetBackTakesNothingAway) {
  auto status = timed(160).job.status;
  status.active_seconds = 5;
  stop_active_time(wall(50), status);
  EXPECT_EQ(status.active_seconds, 5U);
}

TEST(MaxDuration, OfNoneIsNoEnd) {
  auto seen = timed(100000);
  seen.job.spec.max_duration_seconds = 0;
  EXPECT_EQ(decide(seen).status.phase, JobPhase::kRunning);
}

}  // namespace
}  // namespace ratoon::core::time_limit_test
