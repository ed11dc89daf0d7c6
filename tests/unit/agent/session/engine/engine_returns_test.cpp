// A function that returned before the run's end: a changed world explains the return, or an order to leave
// does, or the program is wrong.
#include <utility>

#include <gmock/gmock.h>

#include <ratoon/failure.h>

#include "tests/support/engine_rank.h"

namespace ratoon::engine_returns_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class EngineReturnsTest : public test::RanksTest {
 protected:
  // The message and the exit code.
  static std::pair<int, std::string> refusal(test::TestRank& rank) {
    try {
      rank.engine().refuse_early_return();
    } catch (const Failure& why) {
      return {why.exit_code, why.what()};
    }
  }
};

TEST_F(EngineReturnsTest, WhereTheWorldChangedTheFunctionIsCalledAgain) {
  auto alone = rank(0, 1);
  alone.begin(100);
  alone.steps(3);
  alone.link.said = session::WorldStatus::kWorldChanged;
  EXPECT_THROW(alone.engine().refuse_early_return(), Interrupted);
}

// It returned since a collective of its own had failed, and the process hears of the loss no sooner than the
// engine.
TEST_F(EngineReturnsTest, TheNewsOfALossIsWaitedFor) {
  auto first = rank(0, 2);
  first.begin(100);
  first.steps(3);
  first.link.look_takes = 1s;
  first.link.changes = first.link.clock.now() + 50s;
  testing::internal::CaptureStderr();
  EXPECT_THROW(first.engine().refuse_early_return(), Interrupted);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("the training function returned at step 3 of 100, and this process waits up to 60 s "
                        "for a report that the set of processes has changed\n"));
}

TEST_F(EngineReturnsTest, ItIsWaitedForLongerWhereAChangeIsNear) {
  auto first = rank(0, 2);
  first.begin(100);
  first.steps(3);
  first.link.look_takes = 1s;
  first.link.signs.expected_change_reason = "a peer does not answer";
  first.link.changes = first.link.clock.now() + 90s;
  testing::internal::CaptureStderr();
  EXPECT_THROW(first.engine().refuse_early_return(), Interrupted);
  EXPECT_THAT(
      testing::internal::GetCapturedStderr(),
      HasSubstr(
          "waits up to 100 s for a report that the set of processes has changed: a peer does not answer\n"));
}

// The coordinator may have known about a change.
TEST_F(EngineReturnsTest, ASilentCoordinatorIsNoFaultOfTheProgram) {
  auto first = rank(0, 2);
  first.begin(100);
  first.steps(3);
  first.link.look_takes = 1s;
  first.link.signs.coordinator_answered_at = first.link.clock.now() - 1s;
  const auto [code, sentence] = refusal(first);
  EXPECT_EQ(code, 81);
  EXPECT_THAT(sentence,
              HasSubstr("the training function returned at step 3 of 100, and the coordinator, which "
                        "knows whether the world changed, did not answer for 60 s"));
}

TEST_F(EngineReturnsTest, OneThatAnswersKnowsOfNoChange) {
  auto first = rank(0, 2);
  first.begin(100);
  first.steps(3);
  first.link.look_takes = 1s;
  first.link.signs.coordinator_answered_at = first.link.clock.now() + 1s;
  EXPECT_EQ(refusal(first).first, 82);
}

TEST_F(EngineReturnsTest, WhereItDidNotTheProgramIsWrong) {
  auto first = rank(0, 2);
  first.begin(1000);
  first.steps(14);
  first.link.look_takes = 1s;
  const auto [code, sentence] = refusal(first);
  EXPECT_EQ(code, 82);
  EXPECT_THAT(sentence, HasSubstr("returned at step 14 of 1000: to end the run early, call finish()"));
  EXPECT_THAT(sentence, HasSubstr("the save of step 10 is not committed, and no earlier save is committed"))
      << "the other rank saved nothing";
}

TEST_F(EngineReturnsTest, ToldToLeaveItHasLeft) {
  auto alone = rank(0, 1);
  alone.begin(100);
  alone.steps(3);
  alone.engine().notify(100s, "a spot reclaim");
  const auto [code, sentence] = refusal(alone);
  EXPECT_EQ(code, 80);
  EXPECT_THAT(sentence,
              HasSubstr("returned at step 3 of 100 because it was told to leave; nothing is saved"));
}

}  // namespace
}  // namespace ratoon::engine_returns_test
