#include "base/process/process_supervisor.h"

#include <gtest/gtest.h>

namespace ratoon::process_supervisor_test {
namespace {

using std::chrono::seconds;
using Ranks = std::vector<std::uint32_t>;

constexpr ProcessEnd kKilled = {.code = 137, .was_killed = true};

Timestamp at(int s) {
  return {.since_boot = seconds(s)};
}

ProcessEnd with_code(int code) {
  return {.code = code, .was_killed = false};
}

ProcessSupervisor started(std::uint32_t processes, std::uint32_t restarts_max = 10) {
  ProcessSupervisor supervisor(processes, restarts_max);
  for (const std::uint32_t rank : supervisor.ranks_to_start(at(0))) supervisor.record_start(rank, at(0));
  return supervisor;
}

TEST(ProcessSupervisorTest, AllAreStartedAndTheEndIsTheirSuccess) {
  ProcessSupervisor supervisor(3, 10);
  EXPECT_EQ(supervisor.ranks_to_start(at(0)), (Ranks{0, 1, 2}));
  supervisor = started(3);
  EXPECT_TRUE(supervisor.ranks_to_start(at(0)).empty());
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    EXPECT_FALSE(supervisor.is_over());
    EXPECT_FALSE(supervisor.record_end(rank, with_code(0), at(5)));
  }
  EXPECT_TRUE(supervisor.is_over());
  EXPECT_EQ(supervisor.exit_code(), 0);
}

TEST(ProcessSupervisorTest, WhatWasKilledOrAsksForAFreshProcessIsStartedAgainAtOnceAndAlone) {
  for (const ProcessEnd& end : {kKilled, with_code(81), ProcessEnd{.code = 139, .was_killed = true}}) {
    ProcessSupervisor supervisor = started(2);
    EXPECT_TRUE(supervisor.record_end(1, end, at(5)));
    EXPECT_EQ(supervisor.ranks_to_start(at(5)), (Ranks{1}));
    EXPECT_FALSE(supervisor.is_over());
    EXPECT_FALSE(supervisor.has_failed());
  }
}

// 137 as a program's own exit code is no signal.
TEST(ProcessSupervisorTest, AnyOtherCodeEndsAllWithTheFirstOne) {
  for (const int code : {1, 82, 83, 84, 130, 137}) {
    ProcessSupervisor supervisor = started(3);
    EXPECT_FALSE(supervisor.record_end(0, with_code(code), at(5)));
    EXPECT_TRUE(supervisor.has_failed());
    EXPECT_FALSE(supervisor.record_end(1, kKilled, at(6)));
    EXPECT_FALSE(supervisor.is_over());
    EXPECT_FALSE(supervisor.record_end(2, with_code(0), at(6)));
    EXPECT_TRUE(supervisor.is_over());
    EXPECT_EQ(supervisor.exit_code(), code);
  }
}

TEST(ProcessSupervisorTest, AFailureTakesBackTheStartThatWasDue) {
  ProcessSupervisor supervisor = started(2);
  EXPECT_TRUE(supervisor.record_end(0, kKilled, at(5)));
  EXPECT_FALSE(supervisor.record_end(1, with_code(1), at(5)));
  EXPECT_TRUE(supervisor.ranks_to_start(at(5)).empty());
  EXPECT_TRUE(supervisor.is_over());
  EXPECT_EQ(supervisor.exit_code(), 1);
}

TEST(ProcessSupervisorTest, QuickEndsInARowAreFurtherAndFurtherApart) {
  ProcessSupervisor supervisor = started(1);
  int now = 0;
  for (const int pause : {0, 1, 2, 4, 8, 16, 32, 32, 32, 32}) {
    EXPECT_TRUE(supervisor.record_end(0, kKilled, at(now)));
    ASSERT_EQ(supervisor.next_start_time(), at(now + pause));
    now += pause;
    EXPECT_EQ(supervisor.ranks_to_start(at(now)), (Ranks{0}));
    if (pause > 0) {
      EXPECT_TRUE(supervisor.ranks_to_start(at(now - 1)).empty());
    }
    supervisor.record_start(0, at(now));
  }
  EXPECT_FALSE(supervisor.record_end(0, kKilled, at(now)));
  EXPECT_EQ(supervisor.exit_code(), 137);
}

TEST(ProcessSupervisorTest, AProcessThatLivedAMinuteBeginsAnew) {
  ProcessSupervisor supervisor = started(1, 2);
  for (int now = 60; now < 6000; now += 60) {
    EXPECT_TRUE(supervisor.record_end(0, kKilled, at(now)));
    EXPECT_EQ(supervisor.next_start_time(), at(now));
    supervisor.record_start(0, at(now));
  }
}

TEST(ProcessSupervisorTest, NobodyIsStartedAgainWhoWasToldToLeave) {
  ProcessSupervisor supervisor = started(2);
  EXPECT_TRUE(supervisor.record_end(0, kKilled, at(1)));
  supervisor.record_stop(ExitCode::kInterruptedByUser);
  EXPECT_FALSE(supervisor.record_end(1, with_code(80), at(2)));
  EXPECT_TRUE(supervisor.is_over());
  EXPECT_EQ(supervisor.exit_code(), 80);
}

// The process was killed, and is not done: a command that follows the launch in a script must not take it for
// done.
TEST(ProcessSupervisorTest, AStopBeforeAProcessIsStartedAgainIsNoSuccess) {
  for (const ExitCode code : {ExitCode::kPreempted, ExitCode::kInterruptedByUser}) {
    ProcessSupervisor supervisor = started(2);
    EXPECT_TRUE(supervisor.record_end(0, kKilled, at(1)));
    supervisor.record_stop(code);
    supervisor.record_stop(ExitCode::kStartAgain);
    EXPECT_FALSE(supervisor.is_over());
    EXPECT_FALSE(supervisor.record_end(1, with_code(0), at(2)));
    EXPECT_TRUE(supervisor.is_over());
    EXPECT_EQ(supervisor.exit_code(), static_cast<int>(code));
  }
  ProcessSupervisor unstarted(1, 10);
  unstarted.record_failed_start(0, at(0));
  unstarted.record_stop(ExitCode::kPreempted);
  EXPECT_EQ(unstarted.exit_code(), 80);
  ProcessSupervisor over = started(1);
  over.record_stop(ExitCode::kPreempted);
  EXPECT_FALSE(over.record_end(0, with_code(0), at(1)));
  EXPECT_EQ(over.exit_code(), 0) << "it was done by then";
}

TEST(ProcessSupervisorTest, WhereOneWasPreemptedTheOthersAreNotStartedAgain) {
  ProcessSupervisor supervisor = started(2);
  EXPECT_FALSE(supervisor.record_end(0, with_code(80), at(1)));
  EXPECT_FALSE(supervisor.has_failed());
  EXPECT_FALSE(supervisor.record_end(1, kKilled, at(2)));
  EXPECT_EQ(supervisor.exit_code(), 137);
}

TEST(ProcessSupervisorTest, OneThatLeavesLateBySigtermIsNoFailure) {
  ProcessSupervisor supervisor = started(2);
  EXPECT_FALSE(supervisor.was_preempted());
  EXPECT_FALSE(supervisor.record_end(0, with_code(80), at(1)));
  EXPECT_TRUE(supervisor.was_preempted());
  EXPECT_FALSE(supervisor.record_end(1, {.code = 143, .was_killed = true}, at(40)));
  EXPECT_TRUE(supervisor.is_over());
  EXPECT_EQ(supervisor.exit_code(), 80);
}

TEST(ProcessSupervisorTest, AStartThatTheSystemRefusesIsTriedAgainAndIsNoEndOfAProcess) {
  ProcessSupervisor supervisor(2, 0);
  supervisor.record_failed_start(0, at(0));
  EXPECT_EQ(supervisor.ranks_to_start(at(0)), Ranks{1});
  supervisor.record_start(1, at(0));
  EXPECT_EQ(supervisor.next_start_time(), at(1));
  for (int second = 1; second < 100; ++second) {
    ASSERT_EQ(supervisor.ranks_to_start(at(second)), Ranks{0});
    supervisor.record_failed_start(0, at(second));
  }
  EXPECT_FALSE(supervisor.has_failed());
  supervisor.record_stop(ExitCode::kPreempted);
  supervisor.record_failed_start(0, at(100));
  EXPECT_TRUE(supervisor.ranks_to_start(at(200)).empty()) << "told to leave, it starts nothing";
}

}  // namespace
}  // namespace ratoon::process_supervisor_test
