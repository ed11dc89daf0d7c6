#include "operator/local/runner_wakeup.h"

#include <chrono>
#include <csignal>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "operator/local/members/process_group.h"
#include "tests/support/children.h"

namespace ratoon::local::runner_wakeup_test {
namespace {

using namespace std::chrono_literals;

// RunnerWakeup blocks signals in its thread; the next test wants them back.
class RunnerWakeupTest : public testing::Test {
 protected:
  RunnerWakeupTest() {
    ::pthread_sigmask(SIG_SETMASK, nullptr, &before_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) std::signal(signal, SIG_DFL);
  }
  ~RunnerWakeupTest() override { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  static RunnerWakeup open() {
    auto wakeup = RunnerWakeup::open();
    EXPECT_TRUE(wakeup) << wakeup.error().message();
    return std::move(*wakeup);
  }
  static ProcessGroup exit_with(const std::string& code) {
    auto group = ProcessGroup::launch(
        {.command = {"sh", "-c", "exit " + code}, .environments = {{}}, .log_path = "/dev/null"});
    EXPECT_TRUE(group) << group.error().message();
    return std::move(*group);
  }
  sigset_t before_{};
};

// Longer than any test may take: a sleep that goes to its end fails by its time-out.
constexpr auto kForLong = 1h;

TEST_F(RunnerWakeupTest, NewsEndTheSleepEvenIfTheyCameBeforeIt) {
  const RunnerWakeup wakeup = open();
  wakeup.notify();
  wakeup.notify();
  EXPECT_EQ(wakeup.sleep(kForLong), 0);
  std::jthread other([&] { wakeup.notify(); });
  EXPECT_EQ(wakeup.sleep(kForLong), 0);
  EXPECT_EQ(wakeup.sleep(1ms), 0) << "without news it ends by itself";
}

TEST_F(RunnerWakeupTest, OtherWorkIsDoneDuringASleep) {
  RunnerWakeup wakeup = open();
  int calls = 0;
  wakeup.call_while_asleep(1ms, [&] {
    if (++calls == 3) wakeup.notify();
  });
  EXPECT_EQ(wakeup.sleep(kForLong), 0);
  EXPECT_GE(calls, 3);
  EXPECT_EQ(wakeup.sleep(5ms), 0) << "without news it ends by itself";
}

TEST_F(RunnerWakeupTest, SignalsOfTheBatchSystemArePassedOnAndEndNoRun) {
  RunnerWakeup wakeup = open();
  std::vector<int> passed;
  wakeup.pass_signals_to([&](int number) { passed.push_back(number); });
  for (const int number : {SIGUSR1, SIGUSR2}) {
    ::kill(::getpid(), number);
    EXPECT_EQ(wakeup.sleep(kForLong), 0);
  }
  EXPECT_EQ(passed, std::vector<int>({SIGUSR1, SIGUSR2}));
}

TEST_F(RunnerWakeupTest, TheEndOfAChildEndsTheSleep) {
  const RunnerWakeup wakeup = open();
  auto group = exit_with("0");
  EXPECT_EQ(wakeup.sleep(kForLong), 0);
  while (!group.has_ended() && test::wait_for_a_child()) group.reap();
}

// nohup leaves SIGHUP ignored, and the '&' of a script SIGINT.
TEST_F(RunnerWakeupTest, WhatWasInheritedAsIgnoredAsksForNothing) {
  for (const int signal : {SIGHUP, SIGINT, SIGTERM}) {
    std::signal(signal, SIG_IGN);
    const RunnerWakeup wakeup = open();
    ::pthread_kill(::pthread_self(), signal);
    EXPECT_EQ(wakeup.sleep(1ms), 0) << signal;
    std::signal(signal, SIG_DFL);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
}

TEST_F(RunnerWakeupTest, TellsHowOftenTheUserAskedToStop) {
  const RunnerWakeup wakeup = open();
  ::pthread_kill(::pthread_self(), SIGINT);
  EXPECT_EQ(wakeup.sleep(kForLong), 1);
  ::pthread_kill(::pthread_self(), SIGTERM);
  ::pthread_kill(::pthread_self(), SIGINT);
  EXPECT_EQ(wakeup.sleep(kForLong), 2);
  EXPECT_EQ(wakeup.sleep(1ms), 0);
}

// Some supervisors start programs with SIGCHLD ignored; then the kernel reaps children and their exit codes
// are lost.
TEST_F(RunnerWakeupTest, ExitCodesAreKnownWhereSigchldWasIgnored) {
  std::signal(SIGCHLD, SIG_IGN);
  const RunnerWakeup wakeup = open();
  auto group = exit_with("3");
  while (!group.has_ended() && test::wait_for_a_child()) group.reap();
  group.reap();
  std::signal(SIGCHLD, SIG_DFL);
  EXPECT_EQ(group.exit_code(), 3);
}

}  // namespace
}  // namespace ratoon::local::runner_wakeup_test
