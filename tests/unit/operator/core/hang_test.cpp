#include "operator/core/loss/hang.h"

#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/core/reconcile.h"
#include "tests/support/operator_builders.h"

namespace ratoon::core::hang_test {
namespace {

using test::at_seconds;
using test::process;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr double kNow = 1;  // what was heard at 0 is no silence yet

// That many ranks; all compute, and may do so for 30 s.
class HangTest : public testing::Test {
 protected:
  HangTest() { make(3); }
  void make(std::uint32_t members) {
    seen_ = test::running(test::job(members));
    for (std::uint32_t i = 0; i < members; ++i) put(i, ProcessPhase::kCompute, 1);
  }
  void put(std::uint32_t index, ProcessPhase phase, double in_phase, std::uint64_t step = 7,
           std::optional<double> allowed = 30) {
    auto& beat = seen_.processes[index].beat.emplace(test::beat(seen_.processes[index].identity, 1, step));
    beat.phase = phase;
    beat.seconds_in_phase = in_phase;
    beat.allowed_seconds = allowed;
  }
  void all_wait(double in_phase) {
    for (std::uint32_t i = 0; i < seen_.processes.size(); ++i)
      put(i, ProcessPhase::kCollective, in_phase + 0.25 * i);
  }
  std::vector<std::uint32_t> culprits() const {
    std::vector<std::uint32_t> found;
    for (const auto& verdict : find_hang(seen_, at_seconds(kNow)).culprits)
      found.push_back(verdict.member.index);
    return found;
  }
  Decision decide() const { return reconcile(seen_, at_seconds(kNow)); }
  std::vector<std::uint32_t> incarnations() const {
    std::vector<std::uint32_t> all;
    for (const auto& member : decide().status.members) all.push_back(member.incarnation);
    return all;
  }
  bool gives_up_world() const { return decide().status.attempt != seen_.job.status.attempt; }

  Observation seen_;
};

TEST_F(HangTest, TheCulpritIsNotInTheCollective) {
  for (const auto phase :
       {ProcessPhase::kData, ProcessPhase::kCompute, ProcessPhase::kSave, ProcessPhase::kUser}) {
    all_wait(90);
    put(2, phase, 30.5);
    EXPECT_THAT(culprits(), ElementsAre(2));
    EXPECT_THAT(incarnations(), ElementsAre(0, 0, 1));
    put(2, phase, 30);
    EXPECT_THAT(culprits(), ElementsAre()) << "who may still take its time is waited for";
    EXPECT_FALSE(gives_up_world());
  }
}

TEST_F(HangTest, IsCountedTellsWhyAndReplacesAtOnce) {
  all_wait(31);
  put(1, ProcessPhase::kData, 31);
  const Decision decision = decide();
  EXPECT_EQ(decision.status.restarts.hung, 1U);
  EXPECT_EQ(decision.status.restarts.application, 0U);
  EXPECT_EQ(decision.status.restarts.disruption, 0U);
  EXPECT_FALSE(decision.status.members[1].next_pod_not_before);
  ASSERT_TRUE(decision.status.last_failure);
  EXPECT_EQ(decision.status.last_failure->reason, "hung: 31.0 s in data at step 7, 30.0 s are allowed");
  EXPECT_TRUE(decision.announcement.is_hung);
  EXPECT_THAT(decision.announcement.reason, HasSubstr("worker-1-i0 was lost: hung: 31.0 s in data"));
  // The time of the hang: its last progress was 31 s before its last message.
  ASSERT_TRUE(decision.recovery);
  EXPECT_EQ(decision.recovery->last_message_at, at_seconds(-31));
  // The others learn of it until the next world exists, also from a later operator.
  seen_.job.status = decision.status;
  seen_.recovery = decision.recovery;
  EXPECT_TRUE(decide().announcement.is_hung);
  EXPECT_EQ(decide().status.restarts.hung, 1U);
}

TEST_F(HangTest, SeveralCulpritsAreOneHang) {
  put(0, ProcessPhase::kData, 31);
  put(2, ProcessPhase::kData, 40);
  EXPECT_THAT(incarnations(), ElementsAre(1, 0, 1));
  EXPECT_EQ(decide().status.restarts.hung, 1U);
  EXPECT_EQ(decide().status.restarts.disruption, 1U);
}

TEST_F(HangTest, WhoEndsByItselfDoesNotPayForTheOthers) {
  put(0, ProcessPhase::kData, 31);
  put(2, ProcessPhase::kData, 40);
  seen_.pods[0].phase = api::PodPhase::kFailed;
  seen_.pods[0].exit_code = 81;
  EXPECT_EQ(decide().status.restarts.hung, 1U);
  EXPECT_EQ(decide().status.restarts.disruption, 1U);
}

TEST_F(HangTest, AMemberOfSeveralProcessesIsJudgedOnce) {
  seen_.job.spec.processes_per_node = 2;
  for (std::uint32_t i = 0; i < 3; ++i) {
    seen_.processes.push_back(test::heard(process(i, 0, 1)));
    seen_.world.push_back(test::seat(process(i, 0, 1), 3 + i, 1, 6));
  }
  for (std::uint32_t i = 0; i < 6; ++i) put(i, ProcessPhase::kCompute, i % 3 == 1 ? 31 : 2);
  EXPECT_THAT(culprits(), ElementsAre(1));
}

TEST_F(HangTest, WhereAllAreInACollectiveTheOneBehindIsToBlame) {
  all_wait(31);
  put(1, ProcessPhase::kCollective, 32, 6);
  EXPECT_THAT(culprits(), ElementsAre(1));
}

TEST_F(HangTest, OrNobodyAndAllFormTheNextWorld) {
  all_wait(30);
  EXPECT_FALSE(gives_up_world()) << "the last came just now";
  all_wait(31);
  const Decision decision = decide();
  EXPECT_THAT(incarnations(), ElementsAre(0, 0, 0));
  EXPECT_EQ(decision.status.attempt, Attempt(2));
  EXPECT_FALSE(decision.status.is_world_formed);
  EXPECT_EQ(decision.status.restarts.hung, 1U);
  EXPECT_TRUE(decision.announcement.is_hung);
  EXPECT_EQ(decision.announcement.reason,
            "all processes wait for each other: 31.0 s in collective at step 7, 30.0 s are allowed");
  ASSERT_TRUE(decision.recovery);
  for (const auto& action : decision.actions) EXPECT_TRUE(std::holds_alternative<EmitEvent>(action));
  // Its processes still send the messages of that world.
  seen_.job.status = decision.status;
  seen_.world.clear();
  EXPECT_EQ(decide().status.attempt, Attempt(2));
  EXPECT_EQ(decide().status.restarts.hung, 1U);
}

TEST_F(HangTest, NobodyIsBlamedForAllBeforeAllWereHeard) {
  all_wait(31);
  seen_.processes[2].beat.reset();
  EXPECT_FALSE(gives_up_world());
  all_wait(31);
  seen_.processes[2].beat->attempt = Attempt(0);
  EXPECT_FALSE(gives_up_world());
  all_wait(31);
  seen_.processes[2].is_completed = true;  // nobody waits for it any more
  EXPECT_TRUE(gives_up_world());
}

TEST_F(HangTest, ABeatFromBeforeAllWereOverdueProvesNoHang) {
  all_wait(30.5);
  seen_.processes[0].last_heard = seen_.processes[1].last_heard = at_seconds(kNow);
  EXPECT_FALSE(gives_up_world()) << "they may wait for the one that sent no beat since";
  seen_.processes[2].last_heard = at_seconds(kNow);
  EXPECT_TRUE(gives_up_world());
}

// Its beats were lost while the others made their steps, and are done.
TEST_F(HangTest, WhoWasLastHeardStepsAgoIsStuckNoMore) {
  all_wait(31);
  for (const std::uint32_t done : {1U, 2U}) seen_.processes[done].is_completed = true;
  seen_.job.status.step = Step(8);
  EXPECT_TRUE(gives_up_world()) << "the next step is the one that it is in";
  seen_.job.status.step = Step(9);
  EXPECT_FALSE(gives_up_world());
}

TEST_F(HangTest, WhoSaysNoLimitHasNone) {
  for (const auto phase : {ProcessPhase::kCompute, ProcessPhase::kValidate, ProcessPhase::kLoad}) {
    all_wait(1e6);
    put(2, phase, 1e6, 7, std::nullopt);  // as an older agent does
    EXPECT_THAT(culprits(), ElementsAre());
    EXPECT_FALSE(gives_up_world());
  }
}

TEST_F(HangTest, WhoStepsMeanwhileDoesNotExcuseWhoDoesNot) {
  put(0, ProcessPhase::kCompute, 0, 900);
  put(2, ProcessPhase::kCompute, 31);
  EXPECT_THAT(incarnations(), ElementsAre(0, 0, 1));
}

TEST_F(HangTest, EachHangDoublesTheLimitOfTheNext) {
  put(2, ProcessPhase::kCompute, 31);
  seen_.job.status.restarts.hung = 1;
  EXPECT_THAT(culprits(), ElementsAre());
  put(2, ProcessPhase::kCompute, 60.5);
  EXPECT_THAT(culprits(), ElementsAre(2));
  seen_.job.status.restarts.hung = 9;
  put(2, ProcessPhase::kCompute, 32 * 30);
  EXPECT_THAT(culprits(), ElementsAre());
  put(2, ProcessPhase::kCompute, 32 * 30 + 0.5);
  EXPECT_THAT(culprits(), ElementsAre(2)) << "not for ever";
}

TEST_F(HangTest, HangsAndFailuresTogetherUseUpMaxRestarts) {
  put(2, ProcessPhase::kCompute, 1000);
  seen_.job.spec.restart_policy.restarts_max = 5;
  seen_.job.status.restarts.application = 2;
  seen_.job.status.restarts.hung = 2;
  EXPECT_NE(decide().status.phase, api::JobPhase::kFailed);
  seen_.job.status.restarts.hung = 3;
  EXPECT_EQ(decide().status.phase, api::JobPhase::kFailed);
  seen_.job.status.restarts.ignored = 1;
  EXPECT_NE(decide().status.phase, api::JobPhase::kFailed);
  all_wait(1000);
  seen_.job.status.restarts.ignored = 0;
  EXPECT_EQ(decide().status.phase, api::JobPhase::kFailed);
}

TEST_F(HangTest, IsLookedForWhenItCanHaveComeToThat) {
  put(0, ProcessPhase::kCompute, 12);
  EXPECT_EQ(find_hang(seen_, at_seconds(kNow)).next_check, at_seconds(19)) << "18 s, and the beat after them";
  seen_.processes[0].last_heard = at_seconds(-40);  // its beats are late: there is nothing to see before one
  EXPECT_EQ(find_hang(seen_, at_seconds(kNow)).next_check, at_seconds(2));
  make(1);
  put(0, ProcessPhase::kValidate, 12, 7, std::nullopt);
  EXPECT_EQ(find_hang(seen_, at_seconds(kNow)).next_check, std::nullopt);
}

TEST_F(HangTest, IsLookedForInAWorldThatSavesBeforeItRests) {
  put(0, ProcessPhase::kSave, 29);
  seen_.job.spec.is_suspended = true;
  seen_.wall_now = {std::chrono::seconds(100)};
  EXPECT_TRUE(decide().announcement.hand_over);
  EXPECT_EQ(decide().wake_at, at_seconds(2))
      << "1 s, and the beat after it, long before the save is given up";
}

TEST_F(HangTest, OfAWorldThatIsNotThereNobodyHangs) {
  put(2, ProcessPhase::kCompute, 31);
  seen_.job.status.is_world_formed = false;
  EXPECT_THAT(culprits(), ElementsAre());
}

}  // namespace
}  // namespace ratoon::core::hang_test
