#include "operator/local/run_exit.h"

#include <gtest/gtest.h>

namespace ratoon::local::run_exit_test {
namespace {

api::TrainingJobStatus failed_with(std::uint32_t code) {
  api::TrainingJobStatus status;
  status.phase = api::JobPhase::kFailed;
  status.message = "job-worker-0-i2: exit code; maxRestarts (2) is used up";
  status.last_failure = api::MemberFailure{};
  status.last_failure->reason = "exit code";
  status.last_failure->exit_code = code;
  return status;
}

TEST(RunExit, IsZeroForAJobThatCompletedWhateverItSurvived) {
  api::TrainingJobStatus status = failed_with(84);
  status.phase = api::JobPhase::kSucceeded;
  EXPECT_EQ(exit_code_of(status), 0);
}

TEST(RunExit, SaysWhatTheTrainerSaid) {
  for (const int code : {82, 83, 84})
    EXPECT_EQ(exit_code_of(failed_with(static_cast<std::uint32_t>(code))), code);
}

TEST(RunExit, IsOneForEveryOtherEnd) {
  for (const std::uint32_t code : {0U, 1U, 7U, 80U, 81U, 85U, 130U, 137U})
    EXPECT_EQ(exit_code_of(failed_with(code)), 1);
  EXPECT_EQ(exit_code_of({.phase = api::JobPhase::kFailed}), 1);
}

TEST(RunExit, AFailureThatWasSurvivedIsNoReason) {
  api::TrainingJobStatus status = failed_with(84);
  status.message = "maxDurationSeconds (3) is over; nothing was saved";
  EXPECT_EQ(exit_code_of(status), 1);
}

}  // namespace
}  // namespace ratoon::local::run_exit_test
