// The end of a run whose last checkpoint is never committed, since a part of it does not come: the run ends
// all the same, gives the reason, and meanwhile receives the order to leave.
#include <cerrno>
#include <fstream>

#include <gmock/gmock.h>

#include <ratoon/failure.h>

#include "agent/src/session/engine/control_word.h"
#include "agent/src/session/engine/final_commit_wait.h"
#include "base/contract/exit_code.h"
#include "tests/support/engine_rank.h"
#include "tests/support/failing_calls/draw.h"

namespace ratoon::engine_at_end_test {
namespace {

using namespace std::chrono_literals;
using checkpoint::Votes;
using session::FinalCommitWait;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr checkpoint::CheckpointId kLast{.attempt = Attempt(7), .step = Step(3)};

class EngineAtEnd : public test::RanksTest {
 protected:
  // One of two ranks, of which the other one saves in a folder of its own. Each check takes half a minute.
  static void train(test::TestRank& rank) {
    rank.begin(3);
    rank.steps(3);
    rank.link.look_takes = 30s;
  }
  static Failure failure_of(test::TestRank& rank) {
    try {
      rank.engine().finish();
    } catch (const Failure& why) {
      return why;
    }
    ADD_FAILURE() << "the run is called done";
    return {0, ""};
  }
};

TEST_F(EngineAtEnd, EndsWhereAnotherRanksPartNeverComes) {
  auto first = rank(0, 2);
  train(first);
  testing::internal::CaptureStderr();
  const Timestamp began = first.link.clock.now();
  const Failure why = failure_of(first);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(why.exit_code, static_cast<int>(ExitCode::kStorage));
  EXPECT_THAT(why.what(), AllOf(HasSubstr("none of its files has changed for 3900 s (--disk-timeout"),
                                HasSubstr("no file of rank 1 for the checkpoint of step 3 exists in"),
                                HasSubstr("whether this folder is the same on their machines")));
  EXPECT_GE(first.link.clock.now() - began, 3900s);
  EXPECT_LE(first.link.clock.now() - began, 4100s);
  EXPECT_THAT(said, HasSubstr("the end of the run waits for the last checkpoint: no file of rank 1"));
}

TEST_F(EngineAtEnd, EndsWhereNobodyCommits) {
  auto second = rank(1, 2);
  train(second);
  const Failure why = failure_of(second);
  EXPECT_EQ(why.exit_code, static_cast<int>(ExitCode::kStorage));
  EXPECT_THAT(why.what(), HasSubstr("no file of rank 0 for the checkpoint of step 3 exists in"));
}

// The program may find out after its loop that the result is worth keeping.
TEST_F(EngineAtEnd, AWishThatComesAfterTheLastSavePinsIt) {
  auto alone = rank(0, 1);
  alone.begin(3);
  alone.steps(3);
  const SaveTicket ticket = alone.engine().ask_to_save("the best of all runs");
  alone.engine().finish();
  EXPECT_EQ(test::read_text(folder_ / "pins" / "s0000000003.a0007.json"), "the best of all runs\n");
  EXPECT_TRUE(ticket.wait(SaveLevel::kCommitted, 0s));
}

// Another start would find the same volume, and no step would free space on it.
TEST_F(EngineAtEnd, AFullVolumeThatTakesNoPinEndsNoRunThatIsDone) {
  auto alone = rank(0, 1);
  alone.begin(3);
  alone.steps(3);
  static_cast<void>(alone.committed());
  static_cast<void>(alone.engine().ask_to_save("the best of all runs"));
  testing::internal::CaptureStderr();
  {
    const test::failing::Fault full(test::failing::Call::kOpenToWrite, ENOSPC);
    alone.engine().finish();
  }
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("the last checkpoint is not pinned as save() requested (the best of all "),
                    HasSubstr("and run `ratoon checkpoint pin`")));
}

TEST_F(EngineAtEnd, SoDoesTheWishOfAnotherRank) {
  auto first = rank(0, 2);
  auto second = rank(1, 2);
  for (auto* rank : {&second, &first}) {
    rank->begin(3);
    rank->steps(3);
  }
  static_cast<void>(second.engine().ask_to_save("validated by rank 1"));
  static_cast<void>(first.committed());
  first.engine().finish();
  second.engine().finish();
  EXPECT_EQ(test::read_text(folder_ / "pins" / "s0000000003.a0007.json"), "validated by rank 1\n");
}

TEST_F(EngineAtEnd, LeavesInTimeWhenItIsToldTo) {
  auto first = rank(0, 2);
  train(first);
  first.link.look_takes = 1s;
  first.engine().notify(30s, "the node goes");
  const Timestamp goes = first.link.clock.now() + 30s;
  const Failure why = failure_of(first);
  EXPECT_EQ(why.exit_code, static_cast<int>(ExitCode::kPreempted));
  EXPECT_THAT(why.what(),
              AllOf(HasSubstr("left at step 3 because it was told to"), HasSubstr("is not committed")));
  EXPECT_LE(first.link.clock.now(), goes);
}

// A process that waits for a replacement may have to go before the replacement is ready.
TEST_F(EngineAtEnd, HandsOverNoLongerThanItsNoticeLetsIt) {
  auto first = rank(0, 2);
  first.begin(100);
  first.steps(2);
  first.link.look_takes = 1s;
  first.link.wants.hand_over = Attempt(test::kAttempt);
  first.engine().notify(20s, "the node goes");
  const Timestamp goes = first.link.clock.now() + 20s;
  try {
    first.step(session::control::kLeave);
    ADD_FAILURE() << "it stays";
  } catch (const Failure& why) {
    EXPECT_EQ(why.exit_code, static_cast<int>(ExitCode::kPreempted)) << why.what();
    EXPECT_THAT(why.what(), HasSubstr("left at step 3 because it was told to"));
  }
  EXPECT_LE(first.link.clock.now(), goes);
}

// The work after its last commit, such as copies in stores, is left to a later start.
TEST_F(EngineAtEnd, LeavesBehindItsLastCommitWhenItIsToldTo) {
  test::TestRank alone(folder_.path(), 0, 1);
  train(alone);
  alone.engine().finish();
  alone.engine().leave_if_asked_to_end();  // it is not
  alone.engine().notify(0s, "the node goes");
  try {
    alone.engine().leave_if_asked_to_end();
    ADD_FAILURE() << "it stays";
  } catch (const Failure& why) {
    EXPECT_EQ(why.exit_code, static_cast<int>(ExitCode::kPreempted));
    EXPECT_THAT(why.what(), HasSubstr("that step is saved"));
  }
}

// The last commit gets a second more, and the program's mistake is no reason to ignore orders.
TEST_F(EngineAtEnd, AStepAfterTheEndLeavesAtOnceWhenItIsToldTo) {
  auto first = rank(0, 2);
  train(first);
  first.link.look_takes = 100ms;
  first.engine().notify(10min, "the node goes");
  const Timestamp told = first.link.clock.now();
  try {
    first.step();
    ADD_FAILURE() << "there is a step after the last one";
  } catch (const Failure& why) {
    EXPECT_EQ(why.exit_code, static_cast<int>(ExitCode::kPreempted)) << why.what();
    EXPECT_THAT(why.what(), AllOf(HasSubstr("a step was made after the run's end, step 3"),
                                  HasSubstr("left because it was told to"), HasSubstr("is not committed")));
  }
  EXPECT_GE(first.link.clock.now() - told, 1s);
  EXPECT_LE(first.link.clock.now() - told, 3s);
}

TEST_F(EngineAtEnd, HearsThatTheOthersAreGone) {
  auto first = rank(0, 2);
  train(first);
  first.link.changes = first.link.clock.now() + 90s;
  EXPECT_THROW(first.engine().finish(), AttemptOver);
  EXPECT_LE(first.link.clock.now(), first.link.changes + 60s);
}

// Long before the end, and once for each doubling of their number.
TEST_F(EngineAtEnd, SavesThatAreNeverCommittedAreSaid) {
  auto first = rank(0, 2);
  first.begin(1000);
  const auto said_in = [&](int steps) {
    testing::internal::CaptureStderr();
    first.steps(steps);
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_THAT(said_in(79), Not(HasSubstr("are not committed")));
  EXPECT_THAT(said_in(2), HasSubstr("8 saves are not committed, so a start would not resume from them: no "
                                    "file of rank 1 for the checkpoint of step 80 exists in"));
  EXPECT_THAT(said_in(78), Not(HasSubstr("are not committed"))) << "up to step 159";
  EXPECT_THAT(said_in(2), HasSubstr("16 saves are not committed"));
}

TEST(FinalCommitWait, WaitsForRanksThatWriteHoweverLongTheyTake) {
  ManualClock clock;
  FinalCommitWait wait(clock.now(), 300s);
  Votes votes{.id = kLast, .missing = {Rank(1)}, .files = 2};
  for (int i = 0; i < 100; ++i) {
    clock.advance(299s);
    ++votes.unvoted_pack_bytes;
    wait.note_votes(clock.now(), votes);
    EXPECT_FALSE(wait.is_over(clock.now()));
  }
  clock.advance(300s);
  wait.note_votes(clock.now(), votes);
  EXPECT_FALSE(wait.is_over(clock.now()));
  clock.advance(1s);
  wait.note_votes(clock.now(), votes);
  EXPECT_TRUE(wait.is_over(clock.now()));
}

TEST(FinalCommitWait, WhatIsToBeDoneHereIsNoWait) {
  ManualClock clock;
  FinalCommitWait wait(clock.now(), 300s);
  clock.advance(1h);
  wait.note_own_work(clock.now());
  EXPECT_FALSE(wait.is_over(clock.now()));
}

TEST(FinalCommitWait, SpeaksAfterTenSecondsAndThenEachMinute) {
  ManualClock clock;
  FinalCommitWait wait(clock.now(), 1h);
  int words = 0;
  for (int i = 0; i < 131; ++i) {
    if (wait.is_report_due(clock.now())) ++words;
    clock.advance(1s);
  }
  EXPECT_EQ(words, 3) << "after 10, 70 and 130 s";
}

TEST_F(EngineAtEnd, SeesWhoWritesAndHowMuch) {
  const auto disk = checkpoint::RealDisk::open_folder(folder_.path()).value();
  const auto look = [&] { return checkpoint::count_votes(*disk, kLast, 3).value(); };
  EXPECT_EQ(look(), (Votes{.id = kLast, .missing = {Rank(0), Rank(1), Rank(2)}}));
  std::filesystem::create_directories(folder_ / checkpoint::receipts_folder(kLast));
  std::filesystem::create_directories(folder_ / checkpoint::packs_folder(kLast));
  std::ofstream(folder_ / checkpoint::receipt_path(kLast, Rank(1))) << "{}";
  std::ofstream(folder_ / checkpoint::pack_path(kLast, Rank(1))) << "all of it";
  std::ofstream(folder_ / checkpoint::packs_folder(kLast) / ".r0002.safetensors.0123.tmp") << "half";
  EXPECT_EQ(look(), (Votes{.id = kLast, .missing = {Rank(0), Rank(2)}, .files = 3, .unvoted_pack_bytes = 4}));
}

}  // namespace
}  // namespace ratoon::engine_at_end_test
