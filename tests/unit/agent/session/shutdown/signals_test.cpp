#include "agent/src/session/shutdown/signals.h"

#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ratoon/failure.h>

#include "agent/src/session/shutdown/resume_command.h"
#include "tests/support/children.h"

namespace ratoon::session::signals_test {
namespace {

int programs_own = 0;

struct sigaction action_of(int number) {
  struct sigaction action{};
  ::sigaction(number, nullptr, &action);
  return action;
}

TEST(Signals, AreCountedWithTheTimeOfTheFirst) {
  const Signals signals;
  EXPECT_EQ(signals.heard(SIGTERM).count, 0u);
  const Timestamp before = SystemClock().now();
  std::raise(SIGTERM);
  const Timestamp after = SystemClock().now();
  std::raise(SIGTERM);
  EXPECT_EQ(signals.heard(SIGTERM).count, 2u);
  EXPECT_GE(signals.heard(SIGTERM).first, before);
  EXPECT_LE(signals.heard(SIGTERM).first, after);
  EXPECT_EQ(signals.heard(SIGINT).count, 0u);
}

TEST(SignalsDeathTest, WhereNoDescriptorIsLeftTheProcessIsToStartAgain) {
  GTEST_FLAG_SET(death_test_style,
                 "threadsafe");  // another test of this program may have opened what is kept
  const auto begin = [] {
    const rlimit none{};
    ::setrlimit(RLIMIT_NOFILE, &none);
    try {
      const Signals signals;
    } catch (const Failure& why) {
      ::_exit(why.exit_code);
    }
    ::_exit(0);
  };
  EXPECT_EXIT(begin(), testing::ExitedWithCode(81), "");
}

TEST(Signals, AreNoneOfAChildThatIsForked) {
  const Signals signals;
  const pid_t child = ::fork();
  if (child == 0)
    for (;;) ::pause();
  ::kill(child, SIGTERM);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
  EXPECT_EQ(signals.heard(SIGTERM).count, 0u);
  std::raise(SIGTERM);
  EXPECT_EQ(signals.heard(SIGTERM).count, 1u) << "this process listens on";
}

// A second training in a process is refused only after it has begun to handle signals.
TEST(Signals, AreHeardByTwoAtATimeAndTheLastOneGivesBack) {
  {
    const Signals first;
    std::raise(SIGTERM);
    {
      const Signals second;
      EXPECT_EQ(second.heard(SIGTERM).count, 1u);
      std::raise(SIGTERM);
    }
    std::raise(SIGTERM);
    EXPECT_EQ(first.heard(SIGTERM).count, 3u);
  }
  EXPECT_EQ(action_of(SIGTERM).sa_handler, SIG_DFL);
  const Signals again;
  EXPECT_EQ(again.heard(SIGTERM).count, 0u);
}

// Forks a process that handles signals. Sends SIGTERM to the fork at the entry of its system call with that
// number, counted from 0.
struct InterruptedFork {
  bool has_ended = false;  // by the signal
  bool is_idle = false;    // the fork had given back all handlers and waited already
};

InterruptedFork interrupt_fork(int at_call) {
  int status = 0;
  const pid_t parent = ::fork();
  if (parent == 0) {
    const Signals signals;
    ::raise(SIGSTOP);
    if (::fork() == 0)
      for (;;) ::pause();
    for (;;) ::pause();
  }
  EXPECT_EQ(::waitpid(parent, &status, WUNTRACED), parent);
  EXPECT_EQ(::ptrace(PTRACE_SEIZE, parent, 0, PTRACE_O_TRACEFORK | PTRACE_O_TRACESYSGOOD), 0);
  ::kill(parent, SIGCONT);
  pid_t fork = -1;
  while (fork < 0) {
    EXPECT_EQ(::waitpid(parent, &status, __WALL), parent);
    if (status >> 8 == (SIGTRAP | (PTRACE_EVENT_FORK << 8))) {
      unsigned long number = 0;
      EXPECT_EQ(::ptrace(PTRACE_GETEVENTMSG, parent, 0, &number), 0);
      fork = static_cast<pid_t>(number);
    }
    EXPECT_EQ(::ptrace(PTRACE_CONT, parent, 0, 0), 0);
  }
  EXPECT_EQ(::waitpid(fork, &status, __WALL), fork);
  InterruptedFork result;
  for (int stop = 0; stop <= 2 * at_call && !result.is_idle;
       ++stop) {  // a call stops at its entry and its end
    EXPECT_EQ(::ptrace(PTRACE_SYSCALL, fork, 0, 0), 0);
    EXPECT_EQ(::waitpid(fork, &status, __WALL), fork);
    __ptrace_syscall_info call{};
    EXPECT_GT(::ptrace(PTRACE_GET_SYSCALL_INFO, fork, sizeof call, &call), 0);
    result.is_idle = call.op == PTRACE_SYSCALL_INFO_ENTRY && call.entry.nr == SYS_pause;
  }
  ::kill(fork, SIGTERM);
  EXPECT_EQ(::ptrace(PTRACE_DETACH, fork, 0, 0), 0);
  result.has_ended = !test::lives_on(fork, 60'000);
  for (const pid_t one : {fork, parent}) ::kill(one, SIGKILL);
  EXPECT_EQ(::waitpid(parent, nullptr, __WALL), parent);
  return result;
}

TEST(Signals, EndAForkAtEachOfItsFirstSystemCalls) {
  int calls = 0;
  for (bool is_idle = false; !is_idle; ++calls) {
    ASSERT_LT(calls, 100) << "it never waits";
    const InterruptedFork fork = interrupt_fork(calls);
    ASSERT_TRUE(fork.has_ended) << "call " << calls;
    is_idle = fork.is_idle;
  }
  EXPECT_GT(calls, 6) << "each of three handlers is looked at and given back";
}

TEST(Signals, TheProgramsOwnHandlerIsCalledAndComesBack) {
  std::signal(SIGUSR2, [](int) { ++programs_own; });
  {
    const Signals signals(SIGUSR2);
    std::raise(SIGUSR2);
    EXPECT_EQ(programs_own, 1);
    EXPECT_EQ(signals.heard(SIGUSR2).count, 1u);
  }
  std::raise(SIGUSR2);
  EXPECT_EQ(programs_own, 2);
  EXPECT_EQ(action_of(SIGTERM).sa_handler, SIG_DFL);
  const Signals again(SIGUSR2);
  EXPECT_EQ(again.heard(SIGUSR2).count, 0u) << "what was told to a training before is over";
  std::signal(SIGUSR2, SIG_DFL);
}

TEST(Signals, AHandlerThatTheProgramInstallsLaterIsCalledToo) {
  programs_own = 0;
  {
    Signals signals;
    std::signal(SIGTERM, [](int) { ++programs_own; });
    signals.reinstall_handlers();
    std::raise(SIGTERM);
    EXPECT_EQ(signals.heard(SIGTERM).count, 1u);
    EXPECT_EQ(programs_own, 1);
    signals.reinstall_handlers();
    std::raise(SIGTERM);
    EXPECT_EQ(signals.heard(SIGTERM).count, 2u);
    EXPECT_EQ(programs_own, 2) << "once each";
  }
  std::raise(SIGTERM);
  EXPECT_EQ(programs_own, 3) << "it is the program's";
  std::signal(SIGTERM, SIG_DFL);
}

struct sigaction found_by_program;

// A correct handler calls the handler that it found, which is ours.
TEST(Signals, AHandlerThatCallsTheOneThatItFoundMakesNoSecondSignal) {
  programs_own = 0;
  {
    Signals signals;
    struct sigaction programs{};
    programs.sa_flags = SA_SIGINFO;
    programs.sa_sigaction = [](int number, siginfo_t* info, void* context) {
      ++programs_own;
      found_by_program.sa_sigaction(number, info, context);
    };
    ::sigaction(SIGINT, &programs, &found_by_program);
    signals.reinstall_handlers();
    std::raise(SIGINT);
    EXPECT_EQ(signals.heard(SIGINT).count, 1u) << "a second one ends the process";
    EXPECT_EQ(programs_own, 1);
  }
  std::signal(SIGINT, SIG_DFL);
}

TEST(Signals, WhatTheProgramGivesBackToTheSystemIsItsOwnMatter) {
  for (const auto theirs : {SIG_IGN, SIG_DFL}) {
    Signals signals;
    std::signal(SIGUSR1, theirs);
    signals.reinstall_handlers();
    EXPECT_EQ(action_of(SIGUSR1).sa_handler, theirs);
  }
  std::signal(SIGUSR1, SIG_DFL);
}

TEST(Signals, WhatWasIgnoredStaysIgnored) {
  std::signal(SIGINT, SIG_IGN);
  {
    const Signals signals;
    std::raise(SIGINT);
    EXPECT_EQ(signals.heard(SIGINT).count, 0u);
  }
  EXPECT_EQ(action_of(SIGINT).sa_handler, SIG_IGN);
  std::signal(SIGINT, SIG_DFL);
}

TEST(Signals, ASecondCtrlCEndsTheProcessAtOnce) {
  EXPECT_EXIT(
      {
        const Signals signals;
        std::raise(SIGINT);
        if (signals.heard(SIGINT).count != 1) std::_Exit(1);
        std::raise(SIGINT);
        std::_Exit(2);
      },
      testing::ExitedWithCode(130), "");
}

TEST(Signals, WhoWaitsIsWokenByASignalAndByAStop) {
  const Signals signals;
  std::raise(SIGTERM);
  signals.wait({}, std::chrono::minutes(10));
  std::jthread waiting([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) signals.wait(stop, std::chrono::minutes(10));
  });
}

TEST(ResumeCommand, IsWhatAShellTakes) {
  using namespace std::string_literals;
  EXPECT_EQ(shell_command_of("./digits\0--run-name\0my run\0it's\0\0"s),
            "./digits --run-name 'my run' 'it'\\''s' ''");
  EXPECT_EQ(shell_command_of(""), "");
  EXPECT_NE(own_command().find("session_test"), std::string::npos) << own_command();
}

}  // namespace
}  // namespace ratoon::session::signals_test
