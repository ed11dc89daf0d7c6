#include "operator/local/folder/run_console.h"

#include <chrono>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/local/members/run_token.h"
#include "tests/support/operator_builders.h"

namespace ratoon::local::run_console_test {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

class RunConsoleTest : public testing::Test {
 protected:
  std::vector<std::string> told() { return std::exchange(lines_, {}); }
  api::MemberFailure failure(WallTime time, const std::string& words) const {
    return {.member = "counter-worker-0-i0", .time = time, .last_lines = words};
  }

  std::vector<std::string> lines_;
  ManualClock clock_{Timestamp{seconds(50)}, WallTime{seconds(1000)}};
  RunConsole news_{
      [this](const std::string& line) { lines_.push_back(line); }, {.pattern = "logs/*.log"}, clock_};
  api::TrainingJobStatus status_ = test::job().status;
};

TEST_F(RunConsoleTest, ACheckpointIsToldOnce) {
  api::TrainingJobStatus next = status_;
  next.last_checkpoint = ResumePoint{.attempt = Attempt(2), .step = Step(40)};
  news_.print_checkpoint(status_, next);
  EXPECT_THAT(told(), ElementsAre("checkpoint of step 40 is durable (attempt 2)"));
  news_.print_checkpoint(next, next);
  EXPECT_THAT(told(), IsEmpty());
  api::TrainingJobStatus older = status_;
  older.last_checkpoint = ResumePoint{.attempt = Attempt(2), .step = Step(20)};
  news_.print_checkpoint(next, older);
  EXPECT_THAT(told(), IsEmpty()) << "the newest was damaged, which is an event";
}

TEST_F(RunConsoleTest, ALongWaitIsToldEachTenSeconds) {
  status_.is_world_formed = false;
  status_.message = "1 of 2 processes are there";
  news_.print_long_wait(test::job().status, status_);
  clock_.advance(seconds(9));
  news_.print_long_wait(status_, status_);
  EXPECT_THAT(told(), IsEmpty());
  for (int again = 0; again < 2; ++again) {
    clock_.advance(seconds(10));
    news_.print_long_wait(status_, status_);
    EXPECT_THAT(told(), ElementsAre("still waiting: 1 of 2 processes are there; logs are in logs/*.log"));
  }
}

TEST_F(RunConsoleTest, WhoSuspendedARunIsNotToldThatItWaits) {
  status_.is_world_formed = false;
  status_.phase = api::JobPhase::kSuspended;
  news_.print_long_wait(status_, status_);
  clock_.advance(seconds(100));
  news_.print_long_wait(status_, status_);
  EXPECT_THAT(told(), IsEmpty());
}

TEST_F(RunConsoleTest, TheSameSentenceTwiceInARowIsOneLine) {
  EXPECT_TRUE(news_.print_event("a"));
  EXPECT_FALSE(news_.print_event("a"));
  EXPECT_TRUE(news_.print_event("b"));
  EXPECT_TRUE(news_.print_event("a"));
  EXPECT_THAT(told(), ElementsAre("a", "b", "a"));
}

TEST_F(RunConsoleTest, AFailureIsToldWithItsLastTenLines) {
  std::string words;
  for (int i = 1; i <= 12; ++i) words += std::to_string(i) + "\n";
  status_.last_failure = failure(WallTime{seconds(1001)}, words);
  news_.print_failure(status_);
  EXPECT_THAT(told(),
              ElementsAre("the last lines of counter-worker-0-i0:", "  3", "  4", "  5", "  6", "  7", "  8",
                          "  9", "  10", "  11", "  12", "the members' logs are in logs/*.log"));
}

TEST_F(RunConsoleTest, TheFirstFailureIsToldAtOnceAndTheLastOneToo) {
  news_.print_first_failure(status_);
  EXPECT_THAT(told(), IsEmpty());
  status_.last_failure = failure(WallTime{seconds(1001)}, "no such file\n");
  news_.print_first_failure(status_);
  EXPECT_THAT(told(), ElementsAre("the last lines of counter-worker-0-i0:", "  no such file"));
  status_.last_failure = failure(WallTime{seconds(1002)}, "still no such file\n");
  news_.print_first_failure(status_);
  EXPECT_THAT(told(), IsEmpty()) << "the second one is no news before the end";
  news_.print_failure(status_);
  EXPECT_THAT(told(), ElementsAre("the last lines of counter-worker-0-i0:", "  still no such file",
                                  "the members' logs are in logs/*.log"));
}

TEST_F(RunConsoleTest, WhatIsToldAtOnceIsNotToldAgainAtTheEnd) {
  status_.last_failure = failure(WallTime{seconds(1001)}, "no such file\n");
  news_.print_first_failure(status_);
  told();
  news_.print_failure(status_);
  EXPECT_THAT(told(), ElementsAre("the members' logs are in logs/*.log"));
}

// A failure of an earlier run is not in the status: recover_status() removes it.
TEST_F(RunConsoleTest, AFailureAfterTheSystemClockWentBackIsTold) {
  status_.last_failure = failure(WallTime{seconds(999)}, "no such file\n");
  news_.print_failure(status_);
  EXPECT_THAT(told(), ElementsAre("the last lines of counter-worker-0-i0:", "  no such file",
                                  "the members' logs are in logs/*.log"));
}

TEST_F(RunConsoleTest, AFailureWithoutLinesIsToldByTheLogsAlone) {
  status_.last_failure = failure(WallTime{seconds(1001)}, "");
  news_.print_failure(status_);
  EXPECT_THAT(told(), ElementsAre("the members' logs are in logs/*.log"));
}

TEST_F(RunConsoleTest, WhoStopsItIsToldWhereItGoesOn) {
  status_.step = Step(45);
  news_.print_stop(status_);
  status_.last_checkpoint = ResumePoint{.attempt = Attempt(1), .step = Step(40)};
  news_.print_stop(status_);
  EXPECT_THAT(
      told(),
      ElementsAre(
          "stopped at step 45; the same command goes on from the beginning: no checkpoint was saved yet",
          "stopped at step 45; the same command goes on from step 40"));
}

TEST(RunTokenTest, IsItselfAndNothingElse) {
  const auto token = RunToken::generate();
  ASSERT_TRUE(token);
  EXPECT_EQ(token->text().size(), 64u);
  EXPECT_TRUE(token->is(token->text()));
  std::string other = token->text();
  other.back() = other.back() == '0' ? '1' : '0';
  for (const std::string& wrong : {other, std::string(), token->text().substr(1), token->text() + "0"})
    EXPECT_FALSE(token->is(wrong)) << wrong;
  EXPECT_NE(RunToken::generate()->text(), token->text());
}

}  // namespace
}  // namespace ratoon::local::run_console_test
