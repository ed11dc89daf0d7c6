#include "agent/src/session/engine/run_schedule.h"

#include <stdexcept>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/src/session/engine/control_word.h"

namespace ratoon::session::run_schedule_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

constexpr std::uint64_t kEpochSamples = 1000;
constexpr std::uint64_t kBatch = 64;

// A rank alone, or one of many that immediately learns the agreement of all.
class Walk {
 public:
  explicit Walk(RunSchedule::Rules rules, const RunPosition& from = {.epoch_samples = kEpochSamples},
                DecisionBasis decides = DecisionBasis::kTime)
      : schedule(rules, decides), samples_(from.samples) {
    schedule.begin_at(from, now_);
  }
  // Steps of a second each; the steps after which a save is due.
  std::vector<std::uint64_t> saves(int steps) {
    std::vector<std::uint64_t> due;
    for (int i = 0; i < steps && !schedule.is_over(); ++i) {
      step();
      if (!schedule.is_save_due()) continue;
      due.push_back(schedule.position().steps);
      schedule.note_save(now_);
    }
    return due;
  }
  void step() {
    now_ = now_ + Duration(1s);
    samples_ += kBatch;
    schedule.end_step({.samples = samples_, .epoch_samples = kEpochSamples}, now_);
    schedule.apply_requests(schedule.requests());
  }
  RunSchedule schedule;

 private:
  Timestamp now_{5min};
  std::uint64_t samples_;
};

TEST(RunSchedule, SavesWhenItIsDueAndAtTheEnd) {
  Walk walk({.until = Until::steps(10), .save_every = Every::steps(4)});
  EXPECT_THAT(walk.saves(100), ElementsAre(4, 8, 10));
  EXPECT_TRUE(walk.schedule.is_over());
}

// At every cut, the following saves are due at the same steps.
TEST(RunSchedule, IsDueAfterAResumeWhereAnUnbrokenRunHasIt) {
  for (const char* every : {"7st", "0.25ep", "100sp", "5s"}) {
    const RunSchedule::Rules rules{.until = Until::epochs(3), .save_every = Every::parse(every).value()};
    const auto unbroken = Walk(rules).saves(1000);
    ASSERT_GT(unbroken.size(), 5u) << every;
    for (int cut = 1; cut < 30; ++cut) {
      Walk first(rules);
      auto due = first.saves(cut);
      const auto record = record_of(first.schedule.position());
      Walk second(
          rules, position_of(first.schedule.position().steps, record,
                             {.samples = first.schedule.position().samples, .epoch_samples = kEpochSamples}));
      const auto rest = second.saves(1000);
      due.insert(due.end(), rest.begin(), rest.end());
      EXPECT_EQ(due, unbroken) << every << " cut after " << cut;
    }
  }
}

// Gradients of three batches are summed in a step: 12 batches are four steps, in one go or resumed.
TEST(RunSchedule, CountsTheBatchesOfTheStream) {
  RunSchedule schedule({.until = Until::batches(12), .save_every = Every::parse("6ba").value()},
                       DecisionBasis::kTime);
  RunPosition resumed{.steps = 1, .batches = 3, .samples = 24, .epoch_samples = kEpochSamples};
  schedule.begin_at(resumed, Timestamp{});
  std::vector<std::uint64_t> saves;
  for (std::uint64_t batches = 6; !schedule.is_over(); batches += 3) {
    schedule.end_step({.samples = 8 * batches, .epoch_samples = kEpochSamples, .batches = batches},
                      Timestamp{1s});
    schedule.apply_requests(0);
    if (schedule.is_save_due()) saves.push_back(schedule.position().steps);
  }
  EXPECT_THAT(saves, ElementsAre(2, 4));
  EXPECT_EQ(record_of(schedule.position()).batches, 12u);
}

TEST(RunSchedule, TimeEndsItOverAllAttempts) {
  const RunSchedule::Rules rules{.until = Until::duration(10s), .save_every = Every::steps(100)};
  EXPECT_THAT(Walk(rules).saves(100), ElementsAre(10));
  RunPosition resumed{.steps = 7, .batches = 7, .epoch_samples = kEpochSamples, .trained = 7s};
  EXPECT_THAT(Walk(rules, resumed).saves(100), ElementsAre(10));
  resumed.trained = 10s;
  EXPECT_TRUE(Walk(rules, resumed).schedule.is_over()) << "it was over before";
}

TEST(RunSchedule, OnlyOneRankLooksAtTheTimeAndAllDoWhatWasAgreed) {
  const RunSchedule::Rules rules{.until = Until::duration(10s), .save_every = Every::duration(3s)};
  RunSchedule first(rules, DecisionBasis::kTime);
  RunSchedule second(rules, DecisionBasis::kCounts);
  for (RunSchedule* schedule : {&first, &second}) schedule->begin_at({}, Timestamp{});
  EXPECT_TRUE(first.needs_agreement());
  for (RunSchedule* schedule : {&first, &second}) schedule->end_step({}, Timestamp{4s});
  EXPECT_EQ(first.requests(), control::kSave);
  EXPECT_EQ(second.requests(), 0u);
  EXPECT_FALSE(first.is_save_due()) << "no rank agreed yet";
  for (RunSchedule* schedule : {&first, &second}) schedule->apply_requests(0);
  EXPECT_EQ(first.requests(), control::kSave) << "until it is agreed";
  for (RunSchedule* schedule : {&first, &second}) schedule->apply_requests(control::kSave);
  EXPECT_TRUE(first.is_save_due() && second.is_save_due());
  EXPECT_EQ(first.requests(), 0u);
  for (RunSchedule* schedule : {&first, &second}) schedule->end_step({}, Timestamp{11s});
  EXPECT_EQ(first.requests(), control::kSave | control::kEnd);
  EXPECT_FALSE(first.is_over() || second.is_over());
  for (RunSchedule* schedule : {&first, &second}) schedule->apply_requests(control::kEnd);
  EXPECT_TRUE(first.is_over() && second.is_over());
  EXPECT_TRUE(first.is_save_due() && second.is_save_due()) << "the last state is saved";
}

TEST(RunSchedule, BySelfSavesAsOftenAsItIsTold) {
  Walk walk({.until = Until::steps(60), .save_every = Every::automatic()});
  EXPECT_THAT(walk.saves(25), ElementsAre(10, 20)) << "ten seconds at least, until something was measured";
  walk.schedule.set_save_interval(15s);
  EXPECT_THAT(walk.saves(100), ElementsAre(35, 50, 60));
}

TEST(RunSchedule, CountsNoEpochsWithoutAStream) {
  for (const auto& rules :
       {RunSchedule::Rules{.until = Until::epochs(2)}, RunSchedule::Rules{.until = Until::samples(9)},
        RunSchedule::Rules{.until = Until::steps(9), .save_every = Every::epochs({1, 2})}}) {
    RunSchedule schedule(rules, DecisionBasis::kTime);
    EXPECT_THROW(schedule.begin_at({}, Timestamp{}), std::invalid_argument);
  }
}

TEST(RunSchedule, OfAnOlderManifestTheStepsAreKnown) {
  const auto position = position_of(12, std::nullopt, {.samples = 768, .epoch_samples = kEpochSamples});
  EXPECT_EQ(position.steps, 12u);
  EXPECT_EQ(position.batches, 12u);
  EXPECT_EQ(position.samples, 768u);
  EXPECT_EQ(position.trained, 0s);
}

}  // namespace
}  // namespace ratoon::session::run_schedule_test
