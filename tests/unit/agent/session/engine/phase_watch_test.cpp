#include "agent/src/session/engine/phase_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ratoon::session::phase_watch_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class PhaseWatchTest : public testing::Test {
 protected:
  void enter(ProcessPhase phase) { watch_.enter(phase, Step(step_), now_); }
  void spend(ProcessPhase phase, Duration time) {
    enter(phase);
    now_ = now_ + time;
  }
  // Forward and backward, the ranks, the optimizer; the watch is at the beginning of the next step when it
  // returns.
  void train(int steps, Duration each) {
    for (int i = 0; i < steps; ++i) {
      spend(ProcessPhase::kCompute, each);
      spend(ProcessPhase::kCollective, 1s);
      spend(ProcessPhase::kCompute, 1ms);
      ++step_;
    }
    enter(ProcessPhase::kCompute);
  }
  std::optional<Duration> allowed_in(ProcessPhase phase) {
    enter(phase);
    return watch_.phase_time_limit();
  }

  PhaseWatch watch_{HangLimits()};
  std::uint64_t step_ = 0;
  Timestamp now_{.since_boot = 77s};
};

// A session in place that ends its own loop: an evaluation after it is no step.
TEST_F(PhaseWatchTest, WhereTheEndIsNotKnownComputeMayTakeAsLongAsWhereNothingIsLearned) {
  watch_.note_unknown_end();
  train(40, 100ms);
  EXPECT_EQ(watch_.phase_time_limit(), 10min);
  EXPECT_EQ(allowed_in(ProcessPhase::kCollective), 30s);
  train(40, 2min);
  EXPECT_EQ(watch_.phase_time_limit(), 20min);
}

TEST_F(PhaseWatchTest, LearnsTenTimesTheMedianOfStepsAndAtLeastHalfAMinute) {
  train(4, 100ms);
  EXPECT_EQ(watch_.phase_time_limit(), 10min);
  train(1, 100ms);
  EXPECT_EQ(watch_.phase_time_limit(), 30s);
  train(40, 12s);
  EXPECT_EQ(watch_.phase_time_limit(), 120s) << "the short stay behind the collective is no step";
  // Old durations are forgotten; rare phases do not count.
  train(20, 5s);
  train(1, 1h);
  EXPECT_EQ(watch_.phase_time_limit(), 50s);
  EXPECT_EQ(allowed_in(ProcessPhase::kCollective), 30s);
  EXPECT_EQ(allowed_in(ProcessPhase::kSave), 10min) << "of this it saw none";
}

TEST_F(PhaseWatchTest, TheFirstStepOfAnAttemptTakesAsLongAsItTakes) {
  spend(ProcessPhase::kLoad, 1h);
  EXPECT_EQ(watch_.phase_time_limit(), std::nullopt);
  step_ = 40;  // it resumes there, and has made none of them
  for (const auto phase : {ProcessPhase::kCompute, ProcessPhase::kData, ProcessPhase::kCollective})
    EXPECT_EQ(allowed_in(phase), std::nullopt);
  ++step_;
  EXPECT_EQ(allowed_in(ProcessPhase::kCompute), 10min);
}

TEST_F(PhaseWatchTest, AValidationThatWasAnnouncedTakesAsLongAsItTakes) {
  train(10, 1s);
  for (int i = 0; i < 10; ++i) {
    spend(ProcessPhase::kValidate, 1s);
    EXPECT_EQ(watch_.phase_time_limit(), std::nullopt);
    train(1, 1s);
  }
}

TEST_F(PhaseWatchTest, OfWorkWithSignsOfLifeTheLongestPauseCounts) {
  train(1, 1s);
  for (int i = 0; i < 10; ++i) {
    for (int sign = 0; sign < 100; ++sign) spend(ProcessPhase::kSave, 4s);
    train(1, 1s);
  }
  EXPECT_EQ(allowed_in(ProcessPhase::kSave), 40s);
}

Options said(const std::string& after) {
  Options options;
  options.hang.after = after;
  return options;
}

TEST_F(PhaseWatchTest, WhatIsSaidOutweighsWhatIsLearned) {
  watch_ = PhaseWatch(read_hang_limits(said("5s")).value());
  EXPECT_EQ(allowed_in(ProcessPhase::kCompute), std::nullopt);
  train(50, 4s);
  EXPECT_EQ(watch_.phase_time_limit(), 5s);
  EXPECT_EQ(allowed_in(ProcessPhase::kCollective), 5s);
  EXPECT_EQ(allowed_in(ProcessPhase::kValidate), std::nullopt);
  watch_ = PhaseWatch(read_hang_limits(said("off")).value());
  train(50, 4s);
  EXPECT_EQ(watch_.phase_time_limit(), std::nullopt);
}

TEST_F(PhaseWatchTest, ADiskIsWaitedForAsLongAsItMayHang) {
  Options options = said("5s");
  options.disk_timeout_seconds = 300;
  watch_ = PhaseWatch(read_hang_limits(options).value());
  train(2, 1s);
  EXPECT_EQ(watch_.phase_time_limit(), 5s);
  EXPECT_EQ(allowed_in(ProcessPhase::kSave), 330s);
  options.hang.after = "1h";
  watch_ = PhaseWatch(read_hang_limits(options).value());
  train(2, 1s);
  EXPECT_EQ(allowed_in(ProcessPhase::kSave), 1h);
}

TEST(HangLimits, AreATimeAndNothingElse) {
  EXPECT_EQ(read_hang_limits(Options())->fixed, std::nullopt);
  EXPECT_EQ(read_hang_limits(said("1h30m"))->fixed, 90min);
  for (const char* wrong : {"", "on", "0s", "30", "30st", "-5s", "9000d"}) {
    const auto limits = read_hang_limits(said(wrong));
    ASSERT_FALSE(limits) << wrong;
    EXPECT_THAT(limits.error().message(), HasSubstr("found '" + std::string(wrong) + "'"));
    EXPECT_THAT(limits.error().message(), HasSubstr("--hang-after"));
  }
}

}  // namespace
}  // namespace ratoon::session::phase_watch_test
