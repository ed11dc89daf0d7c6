// A session in place: the loop stays unchanged, and the process ends where train() would return or call
// again.
#include <csignal>
#include <cstdlib>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ratoon/session.h>

#include "agent/src/checkpoint/disk/real/real_disk.h"
#include "agent/src/checkpoint/tiers/claim.h"
#include "base/contract/exit_code.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::in_place_test {
namespace {

class InPlaceTest : public testing::Test {
 protected:
  InPlaceTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
  ~InPlaceTest() override { ::unsetenv(kShared); }

  struct Trained {
    std::uint64_t began_at = 0;
    std::uint64_t sum = 0;
    int code = -1;
    friend bool operator==(const Trained&, const Trained&) = default;
  };
  // Adds up step numbers as a program does whose own loop runs until `total`. If it is left before step
  // `leaves_at`, it never completes, and a process must not end in this way.
  Trained count(std::uint64_t total, std::uint64_t leaves_at = ~0ULL) {
    Session session(options_);
    std::uint64_t step = 0;
    std::uint64_t sum = 0;
    session.track("step", step);
    session.track("sum", sum);
    session.resume();
    Trained trained{.began_at = step};
    while (step < total) {
      if (step == leaves_at) return trained;
      sum += step++;
      session.step_done();
    }
    trained.sum = sum;
    trained.code = session.complete();
    return trained;
  }

  // A process that does so and is killed, with all due saves made. In a shared folder.
  void count_and_be_killed(std::uint64_t total, std::uint64_t leaves_at) {
    const auto leave = [&] {
      static_cast<void>(count(total, leaves_at));
      ::_exit(9);
    };
    EXPECT_EXIT(leave(), testing::ExitedWithCode(9), "");
  }

  // A program with a stop flag of its own, which `is_told` sets: it leaves its loop and completes.
  int count_until(std::optional<Until> until, const std::function<bool(std::uint64_t)>& is_told) {
    Session session(options_);
    std::uint64_t step = 0;
    std::uint64_t sum = 0;
    session.track("step", step);
    session.track("sum", sum);
    until ? session.resume(*until) : session.resume();
    bool is_stopped = false;
    while (!session.is_over() && !is_stopped) {
      sum += step++;
      is_stopped = is_told(step);
      session.step_done();
    }
    return session.complete();
  }
  // The step is saved at once; the program checks its flag two steps later.
  static bool is_terminated_at_23(std::uint64_t step) {
    if (step == 23) raise(SIGTERM);
    return step == 25;
  }
  // A death test runs its test anew, in a process of its own: both save in the folder of the first one.
  void share_folder() {
    is_first_process_ = std::getenv(kShared) == nullptr;
    if (is_first_process_) ::setenv(kShared, folder_.path().c_str(), 1);
    options_.save_folder = std::getenv(kShared);
    options_.member.termination_file = options_.save_folder + "/record";
  }
  bool is_saved(const std::string& name) const {
    const std::filesystem::path place = options_.save_folder;
    return std::filesystem::exists(place / "run" / "manifests" / (name + ".json"));
  }
  bool is_first_process() const { return is_first_process_; }
  std::string record() const { return test::read_text(options_.member.termination_file); }

  // One byte of its data.
  void spoil(const std::string& step) const {
    const auto pack = folder_.path() / "run" / "packs" / step / "r0000.safetensors";
    std::string bytes = test::read_text(pack);
    bytes.back() ^= 1;
    test::write_text(pack, bytes);
  }

  static constexpr const char* kShared = "IN_PLACE_TEST_FOLDER";
  test::TemporaryFolder folder_;
  bool is_first_process_ = true;
  Options options_{.save_folder = folder_.path().string(),
                   .run_name = "run",
                   .save_every = Every::steps(10),
                   .member = {}};
};

TEST_F(InPlaceTest, GoesOnFromTheLastCheckpoint) {
  share_folder();
  count_and_be_killed(25, 17);
  EXPECT_EQ(count(25), (Trained{.began_at = 10, .sum = 25 * 24 / 2, .code = 0}));
}

TEST_F(InPlaceTest, WhatIsCompleteIsSavedToItsLastStep) {
  EXPECT_EQ(count(25).code, 0);
  EXPECT_EQ(count(25), (Trained{.began_at = 25, .sum = 25 * 24 / 2, .code = 0}));
  EXPECT_EQ(count(31), (Trained{.began_at = 25, .sum = 31 * 30 / 2, .code = 0})) << "a longer loop goes on";
}

TEST_F(InPlaceTest, TellsTheLoopWhenTheRunIsOver) {
  Session session(options_);
  std::uint64_t steps = 0;
  session.resume(Until::steps(7));
  for (; !session.is_over(); ++steps) session.step_done();
  EXPECT_EQ(steps, 7u);
  EXPECT_EQ(session.complete(), 0);
}

TEST_F(InPlaceTest, FinishEndsTheLoopAndTheRun) {
  for (int start = 0; start < 2; ++start) {
    Session session(options_);
    std::uint64_t step = 0;
    session.track("step", step);
    session.resume();
    while (!session.is_over()) {
      if (++step == 7) session.finish("the loss no longer falls");
      const bool goes_on = session.step_done();
      EXPECT_EQ(goes_on, step < 7);
    }
    EXPECT_EQ(step, 7u) << "and is complete at once when it is started again";
    EXPECT_EQ(session.complete(), 0);
  }
}

// A loop without a check is no way around the end: each step after the end is one too many.
TEST_F(InPlaceTest, AStepAfterTheEndIsRefusedAndAllBeforeItIsSaved) {
  options_.max_duration = Until::steps(25);
  EXPECT_EXIT(
      count(100), testing::ExitedWithCode(static_cast<int>(ExitCode::kConfiguration)),
      "ratoon: a step was made after the run's end, step 25 .25st.: let the loop end where step_done.. is "
      "false or is_over.. is true; that step is saved");
}

// A drain of the node is no end of the run: the next start goes on.
TEST_F(InPlaceTest, ToldToLeaveBeforeTheEndItIsNotComplete) {
  share_folder();
  const auto leaves = testing::ExitedWithCode(static_cast<int>(ExitCode::kPreempted));
  EXPECT_EXIT(count_until(Until::steps(1000), is_terminated_at_23), leaves,
              "complete.. was called at step 25 of 1000 because it was told to leave; that step is saved");
  EXPECT_EQ(record(), "");
  EXPECT_EQ(count(31), (Trained{.began_at = 25, .sum = 31 * 30 / 2, .code = 0}));
}

TEST_F(InPlaceTest, ToldToLeaveARunThatHasNoEndIsNotCompleteEither) {
  share_folder();
  const auto leaves = testing::ExitedWithCode(static_cast<int>(ExitCode::kPreempted));
  EXPECT_EXIT(count_until(std::nullopt, is_terminated_at_23), leaves,
              "complete.. was called at step 25 because it was told to leave; that step is saved");
  EXPECT_EQ(record(), "");
  EXPECT_EQ(count(25), (Trained{.began_at = 25, .sum = 25 * 24 / 2, .code = 0})) << "which is its end";
  EXPECT_NE(record(), "");
}

TEST_F(InPlaceTest, CompleteBeforeTheEndIsAMistakeOfTheProgram) {
  share_folder();
  const auto at_25 = [](std::uint64_t step) { return step == 25; };
  const auto is_wrong = testing::ExitedWithCode(static_cast<int>(ExitCode::kConfiguration));
  EXPECT_EXIT(count_until(Until::steps(1000), at_25), is_wrong,
              "complete.. was called at step 25 of 1000: to end the run early, call finish.. and let the "
              "loop end where step_done.. is false or is_over.. is true; the last save is that of step 20");
  options_.max_duration = Until::steps(100);
  EXPECT_EXIT(count_until(std::nullopt, at_25), is_wrong,
              "complete.. was called at step 25 of 100: to end the run early, call finish");
  EXPECT_EQ(record(), "");
}

// The process ends at once, and the save of a step before must be on the disk by then, as it was reported.
TEST_F(InPlaceTest, ASaveThatIsUnderWayIsWaitedFor) {
  share_folder();
  options_.save_every = Every::steps(24);
  EXPECT_EXIT(count_until(Until::steps(1000), [](std::uint64_t step) { return step == 25; }),
              testing::ExitedWithCode(static_cast<int>(ExitCode::kConfiguration)),
              "the last save is that of step 24");
  EXPECT_TRUE(is_saved("s0000000024.a0001"));
}

TEST_F(InPlaceTest, SoItIsWhereTheProgramIsWrongInAnotherWay) {
  share_folder();
  options_.save_every = Every::steps(24);
  const auto is_wrong = [this] {
    Session session(options_);
    std::uint64_t step = 0;
    session.track("step", step);
    for (session.resume(); step < 24;) {
      ++step;
      session.step_done();
    }
    session.track("late", step);
  };
  EXPECT_EXIT(is_wrong(), testing::ExitedWithCode(static_cast<int>(ExitCode::kConfiguration)),
              "'late' is tracked too late");
  EXPECT_TRUE(is_saved("s0000000024.a0001"));
}

// As `return 0` out of the loop of main() does: the run was not reported as complete.
TEST_F(InPlaceTest, LeftWithoutCompleteTheProcessIsNoSuccess) {
  share_folder();
  const auto end = [this](std::uint64_t leaves_at, int code) {
    static_cast<void>(count(25, leaves_at));
    std::exit(code);
  };
  EXPECT_EXIT(
      end(17, 0), testing::ExitedWithCode(static_cast<int>(ExitCode::kConfiguration)),
      "ratoon: the program destroyed its Session at step 17 without complete..: return "
      "session.complete.. after the loop, and let the loop end by itself; the last save is that of step 10");
  EXPECT_TRUE(is_saved("s0000000010.a0001"));
  EXPECT_EXIT(end(17, 1), testing::ExitedWithCode(1), "") << "the program has said that it failed";
  EXPECT_EXIT(end(~0ULL, 0), testing::ExitedWithCode(0), "") << "it called complete()";
}

TEST_F(InPlaceTest, NorIsItWhereAnExceptionEndedTheSessionAndWasCaught) {
  const auto end = [this](int code) {
    try {
      Session session(options_);
      session.resume();
      throw std::runtime_error("a bad batch");
    } catch (const std::exception&) {
      std::exit(code);
    }
  };
  EXPECT_EXIT(end(0), testing::ExitedWithCode(static_cast<int>(ExitCode::kConfiguration)),
              "destroyed its Session at step 0 without complete");
  EXPECT_EXIT(end(3), testing::ExitedWithCode(3), "");
}

TEST_F(InPlaceTest, ExitWithZeroIsNoEndOfTheRunEither) {
  share_folder();
  const auto exit_at_17 = [this](const std::function<void()>& exit) {
    Session session(options_);
    std::uint64_t step = 0;
    session.track("step", step);
    for (session.resume(Until::steps(60)); step < 17;) {
      ++step;
      session.step_done();
    }
    exit();
  };
  const auto is_refused = testing::ExitedWithCode(static_cast<int>(ExitCode::kConfiguration));
  EXPECT_EXIT(
      exit_at_17([] { std::exit(0); }), is_refused,
      "ratoon: exit.. was called at step 17 of 60 without complete..: .*; the last save is that of step 10");
  EXPECT_TRUE(is_saved("s0000000010.a0001"));
  EXPECT_EXIT(exit_at_17([] { std::thread([] { std::exit(0); }).join(); }), is_refused,
              "exit.. was called with 0 by a thread other than the training thread");
}

TEST_F(InPlaceTest, AChildThatWasForkedEndsAsItLikes) {
  const auto fork_a_child = [this] {
    // Called after the session's own handler, it ends the child: the search for leaks that would follow waits
    // for ever if another thread of the parent was in the sanitizer's allocator at the fork.
    ::on_exit([](int status, void*) { ::_exit(status); }, nullptr);
    Session session(options_);
    session.resume();
    const ::pid_t child = ::fork();
    if (child == 0) std::exit(0);
    int status = -1;
    ::waitpid(child, &status, 0);
    ::_exit(status == 0 ? 5 : 6);
  };
  EXPECT_EXIT(fork_a_child(), testing::ExitedWithCode(5), "");
}

TEST_F(InPlaceTest, CompleteAtItsFirstStepItIsSaved) {
  EXPECT_EQ(count(0).code, 0);
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "run" / "manifests" / "s0000000000.a0001.json"));
}

TEST_F(InPlaceTest, WithoutAFolderTheProcessEndsWithTheReason) {
  const char* words[] = {"program", "--run-name", "run"};
  EXPECT_EXIT(Session(Options::from_environment(3, words)),
              testing::ExitedWithCode(static_cast<int>(ExitCode::kConfiguration)), "ratoon: .*--save-folder");
}

TEST_F(InPlaceTest, AMistakeInTheProgramEndsTheProcessWithTheReason) {
  const auto twice = [this] {
    Session session(options_);
    std::uint64_t sum = 0;
    session.track("sum", sum);
    session.track("sum", sum);
  };
  EXPECT_EXIT(twice(), testing::ExitedWithCode(static_cast<int>(ExitCode::kConfiguration)),
              "ratoon: .*'sum'");
}

TEST_F(InPlaceTest, WhoIsToldToLeaveSavesAndEndsTheProcess) {
  const auto is_interrupted = [this] {
    Session session(options_);
    std::uint64_t step = 0;
    session.track("step", step);
    session.resume();
    for (;; session.step_done())
      if (++step == 4) raise(SIGINT);
  };
  EXPECT_EXIT(is_interrupted(), testing::ExitedWithCode(static_cast<int>(ExitCode::kInterruptedByUser)),
              "stopped by Ctrl-C at step 4, which is saved");
}

// The next start on another machine need not wait until the claim expires.
TEST_F(InPlaceTest, WhoIsToldToLeaveGivesItsClaimBack) {
  share_folder();
  const std::string store = options_.save_folder + "/store";
  options_.stores = {"file://" + store};
  const auto is_interrupted = [this] {
    Session session(options_);
    session.resume();
    raise(SIGINT);
    session.step_done();
  };
  EXPECT_EXIT(is_interrupted(), testing::ExitedWithCode(static_cast<int>(ExitCode::kInterruptedByUser)), "");
  const auto disk = checkpoint::RealDisk::open_existing_folder(store + "/run");
  ASSERT_TRUE(disk) << disk.error().message();
  const auto claim = checkpoint::newest_claim(**disk);
  ASSERT_TRUE(claim && *claim);
  EXPECT_TRUE((**claim).is_released);
}

TEST_F(InPlaceTest, NobodyIsToldToRepeatACommandThatBeginsAnew) {
  options_.overwrite = true;
  const auto is_interrupted = [this] {
    Session session(options_);
    session.resume();
    raise(SIGINT);
    session.step_done();
  };
  EXPECT_EXIT(is_interrupted(), testing::ExitedWithCode(static_cast<int>(ExitCode::kInterruptedByUser)),
              "saved; the same command without --overwrite continues the run");
  options_.overwrite = false;
  options_.run_name = "other";
  options_.autoresume = false;
  EXPECT_EXIT(is_interrupted(), testing::ExitedWithCode(static_cast<int>(ExitCode::kInterruptedByUser)),
              "saved; the same command with --autoresume=true continues the run");
}

TEST_F(InPlaceTest, ABadCheckpointThatIsAloneIsNotTriedForEver) {
  share_folder();
  count_and_be_killed(25, 17);
  if (is_first_process()) spoil("a0001/s0000000010");
  EXPECT_EXIT(count(25), testing::ExitedWithCode(static_cast<int>(ExitCode::kCheckpointsBad)),
              "ratoon: the next start would choose this checkpoint again: .*s0000000010.a0001.json");
}

TEST_F(InPlaceTest, ABadCheckpointBesideAnotherCostsAStart) {
  share_folder();
  count_and_be_killed(35, 27);
  if (is_first_process()) spoil("a0001/s0000000020");
  EXPECT_EXIT(count(35), testing::ExitedWithCode(static_cast<int>(ExitCode::kStartAgain)),
              "start the program");
}

TEST_F(InPlaceTest, HelpIsPrintedAndNothingElseIsDone) {
  const char* words[] = {"program", "--ratoon-help"};
  EXPECT_EXIT(Session(Options::from_environment(2, words)), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace ratoon::in_place_test
