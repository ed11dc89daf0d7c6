// The decisions of ratoon-launcher: a program in its worlds, notice, failures and ends.
#include "launcher/program_control.h"

#include <gtest/gtest.h>

#include "base/contract/names.h"

namespace ratoon::launcher::program_control_test {
namespace {

using std::chrono::seconds;

constexpr ProcessEnd kDone{.code = 0};
constexpr ProcessEnd kFailed{.code = 3};
constexpr ProcessEnd kKilled{.code = 137, .was_killed = true};

Timestamp at(int second) {
  return Timestamp{seconds(second)};
}

Assignment assignment(std::uint64_t attempt) {
  return {.attempt = Attempt(attempt), .world_size = 2, .rendezvous = "10.0.0.1:29500"};
}

class ProgramControlTest : public testing::Test {
 protected:
  template <class Action>
  Action expect_next(Timestamp now) {
    const auto action = control.next(now);
    if (action && std::holds_alternative<Action>(*action)) return std::get<Action>(*action);
    ADD_FAILURE() << "expected another action, found that with index "
                  << (action ? static_cast<int>(action->index()) : -1);
    return {};
  }
  void expect_nothing(Timestamp now) {
    const auto action = control.next(now);
    EXPECT_FALSE(action) << "found the action with index " << action->index();
  }
  void run_in(std::uint64_t attempt, Timestamp now) {
    static_cast<void>(expect_next<JoinWorld>(now));
    control.note_assignment(assignment(attempt));
    EXPECT_EQ(expect_next<StartProgram>(now).assignment.attempt, Attempt(attempt));
    expect_nothing(now);
  }

  ProgramControl control{ProgramTimes{}, 2};
};

TEST_F(ProgramControlTest, TheProgramStartsOnceItsWorldHasFormed) {
  EXPECT_EQ(expect_next<JoinWorld>(at(0)), JoinWorld{});
  expect_nothing(at(100));
  EXPECT_FALSE(control.is_running());
  control.note_assignment(assignment(1));
  EXPECT_EQ(expect_next<StartProgram>(at(100)), StartProgram{assignment(1)});
  EXPECT_TRUE(control.is_running());
  EXPECT_EQ(control.attempt(), Attempt(1));
}

TEST_F(ProgramControlTest, AnAssignmentOfAWorldThatIsOverStartsNothing) {
  static_cast<void>(expect_next<JoinWorld>(at(0)));
  control.note_orders({.attempt = Attempt(2)}, at(0));
  control.note_assignment(assignment(1));
  EXPECT_EQ(expect_next<JoinWorld>(at(0)), (JoinWorld{.left = Attempt(1), .has_been_in_world = true}));
  expect_nothing(at(0));
}

TEST_F(ProgramControlTest, AProgramThatIsDoneEndsTheLauncherWithZero) {
  run_in(1, at(0));
  control.note_end_of_program(kDone, at(9));
  EXPECT_EQ(expect_next<EndLauncher>(at(9)), (EndLauncher{.code = 0, .why = "", .is_code_of_program = true}));
  expect_nothing(at(9));
}

TEST_F(ProgramControlTest, AfterALossInTheWorldTheProgramEndsSoonAndStartsInTheNext) {
  run_in(1, at(0));
  control.note_orders({.attempt = Attempt(2), .reason = "worker-1 was lost"}, at(10));
  EXPECT_EQ(expect_next<TellToLeave>(at(10)),
            (TellToLeave{.deadline = at(12), .reason = "worker-1 was lost"}));
  expect_nothing(at(11));
  EXPECT_EQ(control.wake_at(), at(12));
  static_cast<void>(expect_next<KillProgram>(at(12)));
  expect_nothing(at(13));
  control.note_end_of_program(kKilled, at(13));
  EXPECT_EQ(expect_next<JoinWorld>(at(13)), (JoinWorld{.left = Attempt(1), .has_been_in_world = true}));
  control.note_assignment(assignment(2));
  EXPECT_EQ(expect_next<StartProgram>(at(14)).assignment.attempt, Attempt(2));
}

TEST_F(ProgramControlTest, AKilledProgramIsStartedAgainInItsPodAsAnotherStart) {
  run_in(1, at(0));
  control.note_end_of_program(kKilled, at(10));
  EXPECT_EQ(expect_next<JoinWorld>(at(10)), JoinWorld{.is_new_start = true});
  EXPECT_EQ(control.attempt(), Attempt(0));
}

TEST_F(ProgramControlTest, AProgramThatIsKilledTooOftenEndsTheLauncherWithItsCode) {
  int now = 0;
  for (std::uint64_t attempt = 1; attempt <= 2; ++attempt) {
    static_cast<void>(expect_next<JoinWorld>(at(now)));
    control.note_assignment(assignment(attempt));
    static_cast<void>(expect_next<StartProgram>(at(now)));
    control.note_end_of_program(kKilled, at(++now));
    now += 60;
  }
  static_cast<void>(expect_next<JoinWorld>(at(now)));
  control.note_assignment(assignment(3));
  static_cast<void>(expect_next<StartProgram>(at(now)));
  control.note_end_of_program(kKilled, at(now));
  EXPECT_EQ(expect_next<EndLauncher>(at(now)).code, 137);
}

TEST_F(ProgramControlTest, AFailureWaitsForTheNewsOfALossThatExplainsIt) {
  run_in(1, at(0));
  control.note_end_of_program(kFailed, at(10));
  expect_nothing(at(12));
  EXPECT_EQ(control.wake_at(), at(15));
  control.note_orders({.attempt = Attempt(2)}, at(13));
  EXPECT_EQ(expect_next<JoinWorld>(at(13)), (JoinWorld{.left = Attempt(1), .has_been_in_world = true}));
}

TEST_F(ProgramControlTest, AFailureWithoutSuchNewsEndsTheLauncherWithItsCode) {
  run_in(1, at(0));
  control.note_end_of_program(kFailed, at(10));
  expect_nothing(at(14));
  EXPECT_EQ(expect_next<EndLauncher>(at(15)),
            (EndLauncher{.code = 3, .why = "", .is_code_of_program = true}));
}

TEST_F(ProgramControlTest, WithRareHeartbeatsAFailureWaitsLonger) {
  static_cast<void>(expect_next<JoinWorld>(at(0)));
  auto rare = assignment(1);
  rare.beat_seconds = 4;
  control.note_assignment(rare);
  static_cast<void>(expect_next<StartProgram>(at(0)));
  control.note_end_of_program(kFailed, at(10));
  EXPECT_EQ(control.wake_at(), at(30));
}

TEST_F(ProgramControlTest, AtAHandOverAllProgramsHaveTheirGrace) {
  run_in(1, at(0));
  control.note_orders({.attempt = Attempt(1), .hand_over = true}, at(10));
  EXPECT_EQ(expect_next<TellToLeave>(at(10)).deadline, at(40));
  // The first to leave ends the world; the others go on saving.
  control.note_orders({.attempt = Attempt(2)}, at(11));
  expect_nothing(at(39));
  control.note_end_of_program(kDone, at(39));
  EXPECT_EQ(expect_next<JoinWorld>(at(39)).left, Attempt(1)) << "it has saved, and is not done";
}

TEST_F(ProgramControlTest, WithoutASuccessorTheProgramGetsItsGraceBeforeItsNodeEnds) {
  run_in(1, at(0));
  control.note_orders({.attempt = Attempt(1), .drain_deadline_seconds = 120.0}, at(10));
  expect_nothing(at(99));
  EXPECT_EQ(control.wake_at(), at(100));
  EXPECT_EQ(expect_next<TellToLeave>(at(100)).deadline, at(130));
  control.note_end_of_program({.code = 1}, at(110));
  EXPECT_EQ(expect_next<EndLauncher>(at(110)), EndLauncher{.code = 80})
      << "left on request, whatever the program said";
}

TEST_F(ProgramControlTest, ANoticeThatIsTakenBackChangesNothing) {
  run_in(1, at(0));
  control.note_orders({.attempt = Attempt(1), .drain_deadline_seconds = 120.0}, at(10));
  control.note_orders({.attempt = Attempt(1)}, at(20));
  expect_nothing(at(200));
}

TEST_F(ProgramControlTest, AStopGivesTheGraceAndTheCodeOfTheProgram) {
  run_in(1, at(0));
  control.record_stop("signal 15");
  EXPECT_EQ(expect_next<TellToLeave>(at(10)), (TellToLeave{.deadline = at(40), .reason = "signal 15"}));
  control.note_end_of_program({.code = 143, .was_killed = true}, at(11));
  EXPECT_EQ(expect_next<EndLauncher>(at(11)).code, 143);
}

TEST_F(ProgramControlTest, AProgramThatExitsWithZeroAfterAStopIsNotDone) {
  run_in(1, at(0));
  control.note_orders({.attempt = Attempt(1), .stop = true, .reason = "over"}, at(9));
  static_cast<void>(expect_next<TellToLeave>(at(10)));
  control.note_end_of_program(kDone, at(11));
  EXPECT_EQ(expect_next<EndLauncher>(at(11)), EndLauncher{.code = 80});
}

TEST_F(ProgramControlTest, AStopWhileItWaitsEndsTheLauncherAtOnce) {
  static_cast<void>(expect_next<JoinWorld>(at(0)));
  control.record_stop("signal 15");
  EXPECT_EQ(expect_next<EndLauncher>(at(1)).code, 80);
}

TEST_F(ProgramControlTest, AStopWhileItLeavesAWorldEndsTheLauncherAfterTheProgram) {
  run_in(1, at(0));
  control.note_orders({.attempt = Attempt(2)}, at(10));
  static_cast<void>(expect_next<TellToLeave>(at(10)));
  control.record_stop("signal 15");
  expect_nothing(at(11));
  control.note_end_of_program(kFailed, at(11));
  EXPECT_EQ(expect_next<EndLauncher>(at(11)).code, 3);
}

TEST_F(ProgramControlTest, AMemberThatWasReplacedIsKilledAtOnce) {
  run_in(1, at(0));
  control.note_refusal({.kind = names::refusal::kSuperseded, .message = "replaced"});
  static_cast<void>(expect_next<TellToLeave>(at(10)));
  static_cast<void>(expect_next<KillProgram>(at(10)));
  control.note_end_of_program(kKilled, at(10));
  EXPECT_EQ(expect_next<EndLauncher>(at(10)).code, 81);
}

// The first member that has saved ends the world, and from then on the operator counts only the successor.
TEST_F(ProgramControlTest, AReplacedMemberThatWasToldToLeaveKeepsItsTime) {
  run_in(1, at(0));
  control.note_orders({.attempt = Attempt(1), .hand_over = true}, at(10));
  EXPECT_EQ(expect_next<TellToLeave>(at(10)).deadline, at(40));
  control.note_refusal({.kind = names::refusal::kSuperseded, .message = "replaced"});
  control.record_stop("signal 15");
  expect_nothing(at(39));
  static_cast<void>(expect_next<KillProgram>(at(40)));
  control.note_end_of_program(kKilled, at(40));
  EXPECT_EQ(expect_next<EndLauncher>(at(40)).code, 81);
}

// Another member was lost while the successor was ready: the other programs of the world have two seconds.
TEST_F(ProgramControlTest, AReplacedMemberWhoseNodeEndsHasTheTimeOfTheOthers) {
  run_in(1, at(0));
  control.note_orders({.attempt = Attempt(1), .drain_deadline_seconds = 120.0}, at(10));
  control.note_refusal({.kind = names::refusal::kSuperseded, .message = "replaced"});
  EXPECT_EQ(expect_next<TellToLeave>(at(10)).deadline, at(12));
  expect_nothing(at(11));
  static_cast<void>(expect_next<KillProgram>(at(12)));
}

TEST_F(ProgramControlTest, OnlyALauncherThatWaitsEndsBecauseItIsNotAccepted) {
  static_cast<void>(expect_next<JoinWorld>(at(0)));
  control.note_no_coordinator("the token is refused");
  EXPECT_EQ(expect_next<EndLauncher>(at(0)), (EndLauncher{.code = 84, .why = "the token is refused"}));
}

TEST_F(ProgramControlTest, AProgramThatRunsGoesOnWithoutItsCoordinator) {
  run_in(1, at(0));
  control.note_no_coordinator("the token is refused");
  expect_nothing(at(100));
}

// What was mended hours ago must not end the launcher when it joins its next world.
TEST_F(ProgramControlTest, ADoubtIsOverOnceTheCoordinatorAnswers) {
  run_in(1, at(0));
  control.note_no_coordinator("the token is refused");
  control.note_orders({.attempt = Attempt(1)}, at(5));
  control.note_orders({.attempt = Attempt(2), .reason = "worker-1 was lost"}, at(1000));
  static_cast<void>(expect_next<TellToLeave>(at(1000)));
  control.note_end_of_program(kDone, at(1001));
  EXPECT_EQ(expect_next<JoinWorld>(at(1001)).left, Attempt(1));
}

TEST_F(ProgramControlTest, AShortageOfTheSystemDelaysTheStart) {
  static_cast<void>(expect_next<JoinWorld>(at(0)));
  control.note_assignment(assignment(1));
  static_cast<void>(expect_next<StartProgram>(at(0)));
  control.record_failed_start(at(0));
  expect_nothing(at(0));
  EXPECT_EQ(control.wake_at(), at(1));
  static_cast<void>(expect_next<StartProgram>(at(1)));
}

}  // namespace
}  // namespace ratoon::launcher::program_control_test
