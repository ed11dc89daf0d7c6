// The engine against a scripted link: saves that ranks agreed on, and leaving for a replacement.
#include "agent/src/session/engine/engine.h"

#include <future>
#include <limits>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/src/session/engine/control_word.h"
#include "tests/support/engine_rank.h"

namespace ratoon::engine_test {
namespace {

using namespace std::chrono_literals;
using session::Milestone;
using session::WorldStatus;
using test::inline_saver;
using test::kAttempt;
using test::ScriptedLink;
using test::TestRank;
using testing::ElementsAre;
using testing::HasSubstr;

class EngineTest : public test::RanksTest {};

TEST_F(EngineTest, TellsWhereTheRanksMeet) {
  auto first = rank(0, 2);
  EXPECT_EQ(first.engine().rendezvous().host, "fd00::7");
  EXPECT_EQ(first.engine().rendezvous().port, 29400);
  EXPECT_EQ(first.engine().rendezvous().listening_fd, 42);
  EXPECT_EQ(first.engine().rendezvous().own_host, "10.0.0.7");
  EXPECT_EQ(first.engine().rendezvous().secret, "of attempt 7");
  EXPECT_EQ(rank(1, 2).engine().rendezvous().listening_fd, -1) << "only rank 0 listens";
}

TEST_F(EngineTest, TellsEachStageOfGettingToWork) {
  auto alone = rank(0, 1);
  EXPECT_EQ(alone.link.noted.phase, ProcessPhase::kLoad);
  alone.begin(100);
  EXPECT_EQ(alone.link.noted.phase, ProcessPhase::kCompute);
  alone.steps(2);
  EXPECT_THAT(alone.link.milestones,
              ElementsAre(Milestone::kJoined, Milestone::kLoaded, Milestone::kStepped));
}

TEST_F(EngineTest, AloneARequestToSaveIsServedAtOnceAndOnce) {
  auto alone = rank(0, 1);
  alone.begin(100);
  alone.steps(3);
  alone.link.wants.save_request = 1;
  alone.steps(3);
  EXPECT_THAT(alone.committed(), ElementsAre(4));
  EXPECT_EQ(alone.engine().requests(), 0u);
  alone.link.wants.save_request = 2;
  alone.step();
  EXPECT_THAT(alone.committed(), ElementsAre(7, 4));
}

// A second pack of one step would be refused by the store, since its name is taken.
TEST_F(EngineTest, ASaveThatIsDueServesTheRequestToo) {
  auto alone = rank(0, 1);
  alone.begin(100);
  alone.steps(9);
  alone.link.wants.save_request = 1;
  alone.steps(2);
  EXPECT_THAT(alone.committed(), ElementsAre(10));
}

TEST_F(EngineTest, AloneItLeavesForAReplacementOnceAllIsCommitted) {
  auto alone = rank(0, 1);
  alone.begin(100);
  alone.steps(2);
  alone.link.wants.hand_over = Attempt(kAttempt - 1);
  alone.step();
  EXPECT_TRUE(alone.committed().empty()) << "that was another attempt's";
  alone.link.wants.hand_over = Attempt(kAttempt);
  try {
    alone.step();
    FAIL() << "it goes on";
  } catch (const Interrupted& why) {
    EXPECT_STREQ(why.what(), "handed over at step 4: a replacement is ready");
  }
  EXPECT_THAT(alone.committed(), ElementsAre(4));
  ASSERT_TRUE(alone.link.noted.committed.has_value());
  EXPECT_EQ(alone.link.noted.committed->step, Step(4)) << "told before it leaves";
  EXPECT_EQ(alone.link.noted.step, Step(4));
}

TEST_F(EngineTest, AtTheEndOfTheTrainingNothingIsLeftToHandOver) {
  auto alone = rank(0, 1);
  alone.begin(5);
  alone.steps(4);
  alone.link.wants.hand_over = Attempt(kAttempt);
  EXPECT_NO_THROW(alone.step());
  alone.engine().finish();
  EXPECT_THAT(alone.committed(), ElementsAre(5));
}

TEST_F(EngineTest, ManyWishOneAgreesAndAllSaveAfterTheSameStep) {
  auto first = rank(0, 2);
  auto second = rank(1, 2);
  for (auto* rank : {&first, &second}) rank->begin(100);
  second.link.wants.save_request = 3;  // the first has not heard of it yet
  const std::uint32_t agreed = first.engine().requests() | second.engine().requests();
  EXPECT_EQ(agreed, session::control::kSave);
  second.step(agreed);
  first.step(agreed);
  EXPECT_THAT(first.committed(), ElementsAre(1));
  EXPECT_EQ(second.engine().requests(), 0u);
  second.step();
  first.step();
  EXPECT_THAT(first.committed(), ElementsAre(1)) << "agreed for one step only";
}

TEST_F(EngineTest, ManyWithoutACollectiveLeaveBeforeTheOperatorsDeadlineAllTheSame) {
  auto first = rank(0, 2);
  first.begin(100);
  first.link.wants.drain_deadline = first.link.clock.now() + 60s;
  EXPECT_NO_THROW(first.steps(3));
  first.link.clock.advance(59s);
  try {
    first.step();
    FAIL() << "it would be killed with its node";
  } catch (const Failure& why) {
    EXPECT_EQ(why.exit_code, 80);
    EXPECT_THAT(why.what(), testing::HasSubstr("the operator's notice"));
  }
}

TEST_F(EngineTest, ARunWhoseEndIsTheProgramsAloneMayStandLongerInCompute) {
  const auto allowed_in_a_run_to = [this](std::uint64_t total) {
    auto alone = rank(0, 1);
    alone.begin(total);
    alone.steps(8);
    return alone.link.noted.allowed;
  };
  EXPECT_EQ(allowed_in_a_run_to(100), 30s);
  EXPECT_EQ(allowed_in_a_run_to(std::numeric_limits<std::uint64_t>::max()), 10min)
      << "what is behind the loop looks like a step that takes long";
}

TEST_F(EngineTest, ManyWithoutACollectiveDoNotActOnTheirOwnWishes) {
  auto first = rank(0, 2);
  first.begin(100);
  first.link.look_takes = 10s;  // whoever waits for the other rank gives up soon
  first.link.wants = {.save_request = 1, .hand_over = Attempt(kAttempt)};
  EXPECT_EQ(first.engine().requests(), session::control::kSave | session::control::kLeave);
  EXPECT_NO_THROW(first.steps(3)) << "the other rank may be at another step";
  auto second = rank(1, 2);
  second.begin(100);
  second.steps(3);
  EXPECT_TRUE(first.committed().empty());
}

TEST_F(EngineTest, ManyLeaveOnlyWhenTheCheckpointOfAllIsThere) {
  auto first = rank(0, 2);
  auto second = rank(1, 2);
  for (auto* rank : {&first, &second}) {
    rank->begin(100);
    rank->steps(4);
  }
  auto leaving = std::async(std::launch::async, [&] { first.step(session::control::kLeave); });
  EXPECT_EQ(leaving.wait_for(50ms), std::future_status::timeout) << "the other rank has not saved";
  EXPECT_THROW(second.step(session::control::kLeave), Interrupted);
  EXPECT_THROW(leaving.get(), Interrupted);
  EXPECT_THAT(first.committed(), ElementsAre(5));
  EXPECT_EQ(first.link.noted.phase, ProcessPhase::kSave);
}

TEST_F(EngineTest, AHandOverWaitsForOthersButNotForEver) {
  auto first = rank(0, 2);
  first.begin(100);
  first.link.look_takes = 1s;
  try {
    first.step(session::control::kLeave);
    FAIL() << "it goes on";
  } catch (const Interrupted& why) {
    EXPECT_THAT(why.what(), HasSubstr("its checkpoint was not committed, and none of its files changed for "
                                      "60 s: the run resumes from an older one"));
  }
  EXPECT_TRUE(first.committed().empty());
}

TEST_F(EngineTest, ASaveThatIsUnderWayEndsBeforeTheNextOneThatIsAskedFor) {
  auto first = rank(0, 2);
  first.begin(100);
  first.link.wants.save_request = 1;
  EXPECT_EQ(first.engine().requests(), session::control::kSave);
  first.step(session::control::kSave);
  first.link.wants.save_request = 2;
  EXPECT_EQ(first.engine().requests(), 0U) << "the other rank has not saved";
  first.link.wants.hand_over = Attempt(kAttempt);
  EXPECT_EQ(first.engine().requests(), session::control::kLeave) << "which saves, too";
  first.link.clock.advance(60s);
  EXPECT_EQ(first.engine().requests(), session::control::kSave | session::control::kLeave)
      << "and is not waited for without end";
}

TEST_F(EngineTest, ASaveThatWasMissedIsNotUnderWay) {
  auto alone = rank(0, 1);
  alone.begin(100);
  test::write_text(folder_ / "packs", "in the way of the folder");
  testing::internal::CaptureStderr();
  alone.steps(10);
  testing::internal::GetCapturedStderr();
  EXPECT_EQ(alone.meters.missed_saves, 1u);
  EXPECT_FALSE(alone.link.noted.save_seconds_at(alone.link.clock.now() + 1h));
  alone.link.wants.save_request = 1;
  EXPECT_EQ(alone.engine().requests(), session::control::kSave);
}

// The operator, which waits for pods to save, hears of a save while training waits for it, and not only once
// it is done.
TEST_F(EngineTest, ASaveIsUnderWayBeforeTheFirstByteOfItIsRead) {
  auto first = rank(0, 2);
  std::vector<std::optional<Timestamp>> since;
  first.engine().track(
      "look",
      [&](StateWriter& out) {
        since.push_back(first.link.noted.saving_since);
        out.bytes("", "");
      },
      [](StateReader&) {});
  first.begin(100);
  since.clear();
  first.step(session::control::kSave);
  ASSERT_EQ(since.size(), 1u);
  ASSERT_TRUE(since[0]);
  first.link.clock.advance(30s);
  EXPECT_GE(first.link.noted.save_seconds_at(first.link.clock.now()), 30);
  first.step(session::control::kSave);
  EXPECT_EQ(since.back(), since[0]) << "the other rank has saved neither";
}

// A disk so slow that the other rank's part comes after many minutes.
TEST_F(EngineTest, AHandOverWaitsAsLongAsSavesTook) {
  auto first = rank(0, 2);
  first.begin(100);
  auto second = rank(1, 2);
  second.begin(100);
  first.step(session::control::kSave);
  second.step(session::control::kSave);
  first.link.clock.advance(200s);
  first.step();
  EXPECT_THAT(first.committed(), ElementsAre(1));
  ASSERT_TRUE(first.link.noted.save_seconds);
  const double took = *first.link.noted.save_seconds;
  EXPECT_GE(took, 100) << "but for the time since its commit";
  first.link.look_takes = 1s;
  try {
    first.step(session::control::kLeave);
    FAIL() << "it goes on";
  } catch (const Interrupted& why) {
    EXPECT_THAT(why.what(), HasSubstr("none of its files changed for " +
                                      std::to_string(static_cast<int>(2 * took + 10)) + " s"));
  }
}

TEST_F(EngineTest, AHandOverObeysWhoeverTellsItToStop) {
  for (const auto world_status : {WorldStatus::kStop, WorldStatus::kFenced}) {
    test::TemporaryFolder folder;
    TestRank first(folder.path(), 0, 2);
    first.begin(100);
    first.link.said = world_status;
    EXPECT_THROW(first.step(session::control::kLeave), Failure);
  }
}

TEST_F(EngineTest, AFewSavesMayBeMissedAndThenItEnds) {
  auto alone = rank(0, 1);
  alone.begin(100);
  test::write_text(folder_ / "packs", "in the way of the folder");
  testing::internal::CaptureStderr();
  alone.steps(39);
  EXPECT_EQ(alone.meters.missed_saves, 3u);
  try {
    alone.step();
    FAIL() << "it goes on";
  } catch (const Failure& why) {
    EXPECT_EQ(why.exit_code, 84);
    EXPECT_THAT(why.what(), HasSubstr("4 saves in a row were missed, and the limit is 3 (--max"));
  }
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("the save of step 10 is missed: "));
}

TEST_F(EngineTest, OneGoodSaveMakesUpForThoseThatWereMissed) {
  auto alone = rank(0, 1);
  alone.begin(100);
  test::write_text(folder_ / "packs", "in the way of the folder");
  testing::internal::CaptureStderr();
  alone.steps(30);
  std::filesystem::remove(folder_ / "packs");
  alone.steps(10);
  EXPECT_THAT(alone.committed(), ElementsAre(40));
  EXPECT_EQ(alone.meters.missed_saves, 3u);
  alone.steps(60);
  alone.engine().finish();
  EXPECT_EQ(alone.committed().front(), 100u);
  testing::internal::GetCapturedStderr();
}

TEST_F(EngineTest, TheTrainingIsNotDoneWhereItsLastStateIsNotSaved) {
  auto alone = rank(0, 1);
  alone.begin(5);
  test::write_text(folder_ / "packs", "in the way of the folder");
  testing::internal::CaptureStderr();
  alone.steps(5);
  try {
    alone.engine().finish();
    FAIL() << "it is done";
  } catch (const Failure& why) {
    EXPECT_EQ(why.exit_code, 84);
    EXPECT_THAT(why.what(), HasSubstr("the last checkpoint of the training could not be saved"));
  }
  testing::internal::GetCapturedStderr();
}

TEST_F(EngineTest, WhereTheRunStandsIsInTheManifest) {
  auto alone = rank(0, 1);
  std::uint64_t samples = 0;
  alone.engine().follow(
      [&samples] { return session::DataPosition{.samples = samples, .epoch_samples = 80}; });
  alone.begin(100);
  for (int i = 0; i < 10; ++i) {
    alone.link.clock.advance(1s);
    samples += 16;
    alone.step();
  }
  const auto saved = alone.store().inventory().value().complete.front();
  const auto reader =
      alone.store().read({.attempt = saved.attempt, .step = saved.step, .digest = saved.digest}, Rank(0));
  ASSERT_TRUE(reader);
  ASSERT_TRUE(reader->run());
  EXPECT_EQ(reader->run()->batches, 10u);
  EXPECT_EQ(reader->run()->samples, 160u);
  EXPECT_EQ(reader->run()->epoch_samples, 80u);
  EXPECT_GE(reader->run()->trained_nanoseconds, 10'000'000'000u);
  EXPECT_LT(reader->run()->trained_nanoseconds, 11'000'000'000u);
}

TEST_F(EngineTest, ManyThatEndByTimeAgreeOnIt) {
  auto first = rank(0, 2);
  auto second = rank(1, 2);
  for (auto* rank : {&first, &second}) {
    rank->engine().begin(Until::duration(10s));
    rank->link.clock.advance(10s);
    rank->engine().agree(0);
    rank->engine().end_step();
    EXPECT_FALSE(rank->engine().is_at_end()) << "not agreed yet";
  }
  EXPECT_EQ(second.engine().requests(), 0u);
  const std::uint32_t agreed = first.engine().requests();
  EXPECT_EQ(agreed, session::control::kEnd);
  second.step(agreed);
  first.step(agreed);
  EXPECT_TRUE(first.engine().is_at_end() && second.engine().is_at_end());
  EXPECT_THAT(first.committed(), ElementsAre(2));

  auto silent = rank(0, 2);
  silent.engine().begin(Until::duration(10s));
  EXPECT_THROW(silent.step(), Failure) << "it would never end";
}

TEST_F(EngineTest, CountsStepsOnceTheyAreMadeAndThoseMadeAgain) {
  auto alone = rank(0, 1);
  alone.begin(100);
  alone.steps(10);
  const auto saved = *alone.link.noted.committed;
  EXPECT_EQ(alone.meters.step, 10u);
  EXPECT_EQ(alone.meters.durable_step, 10u);
  EXPECT_EQ(alone.meters.world_size, 1u);
  EXPECT_EQ(alone.meters.attempt, kAttempt);
  EXPECT_GT(alone.meters.save_stall.total(), 0ns);
  std::uint64_t observed = 0;
  for (std::size_t i = 0; i <= metrics::StepTimes::kBucketBoundSeconds.size(); ++i)
    observed += alone.meters.step_times.count(i);
  EXPECT_EQ(observed, 10u);

  const Options options{.save_folder = folder_.path().string(), .save_every = Every::steps(10)};
  session::CheckpointLocations places(options, test::borrowed(alone.meters));
  auto saver = inline_saver(folder_.path());
  alone.meters.step = 13;  // as if three more had been made and lost
  const Session::Engine::Dependencies surroundings{options,    places,           saver,
                                                   alone.link, alone.link.clock, alone.meters};
  Session::Engine next(
      surroundings,
      {.attempt = Attempt(kAttempt + 1),
       .resume = ResumePoint{.attempt = saved.attempt, .step = saved.step, .digest = saved.digest}});
  std::uint64_t sum = 0;
  next.track("sum", [](StateWriter&) {}, [&sum](StateReader& in) { in.number("", sum); });
  next.begin(Until::steps(100));
  EXPECT_EQ(alone.meters.step, 10u);
  EXPECT_EQ(alone.meters.replayed_steps, 3u);
}

}  // namespace
}  // namespace ratoon::engine_test
