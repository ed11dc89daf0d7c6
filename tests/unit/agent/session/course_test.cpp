#include "agent/src/session/course.h"

#include <stdexcept>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/src/session/control_word.h"

namespace ratoon::session::course_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

constexpr std::uint64_t kEpochSamples = 1000;
constexpr std::uint64_t kBatch = 64;

// A rank alone, or one of many that hears at once what all agreed on.
class Walk {
 public:
  explicit Walk(Course::Rules rules, const RunPosition& from = {.epoch_samples = kEpochSamples},
                Decides decides = Decides::kTime)
      : course(rules, decides), samples_(from.samples) {
    course.begin_at(from, now_);
  }
  // Steps of a second each; the steps after which a save is due.
  std::vector<std::uint64_t> saves(int steps) {
    std::vector<std::uint64_t> due;
    for (int i = 0; i < steps && !course.is_over(); ++i) {
      step();
      if (!course.is_save_due()) continue;
      due.push_back(course.position().steps);
      course.note_save(now_);
    }
    return due;
  }
  void step() {
    now_ = now_ + Duration(1s);
    samples_ += kBatch;
    course.end_step({.samples = samples_, .epoch_samples = kEpochSamples}, now_);
    course.take(course.wishes());
  }
  Course course;

 private:
  Timestamp now_{5min};
  std::uint64_t samples_;
};

TEST(Course, SavesWhenItIsDueAndAtTheEnd) {
  Walk walk({.until = Until::steps(10), .save_every = Every::steps(4)});
  EXPECT_THAT(walk.saves(100), ElementsAre(4, 8, 10));
  EXPECT_TRUE(walk.course.is_over());
}

// Wherever it is cut, what comes after is due at the same steps.
TEST(Course, IsDueAfterAResumeWhereAnUnbrokenRunHasIt) {
  for (const char* every : {"7st", "0.25ep", "100sp", "5s"}) {
    const Course::Rules rules{.until = Until::epochs(3), .save_every = Every::parse(every).value()};
    const auto unbroken = Walk(rules).saves(1000);
    ASSERT_GT(unbroken.size(), 5u) << every;
    for (int cut = 1; cut < 30; ++cut) {
      Walk first(rules);
      auto due = first.saves(cut);
      const auto record = record_of(first.course.position());
      Walk second(rules,
                  position_of(first.course.position().steps, record,
                              {.samples = first.course.position().samples, .epoch_samples = kEpochSamples}));
      const auto rest = second.saves(1000);
      due.insert(due.end(), rest.begin(), rest.end());
      EXPECT_EQ(due, unbroken) << every << " cut after " << cut;
    }
  }
}

// Gradients of three batches are summed in a step: 12 batches are four steps, in one go or resumed.
TEST(Course, CountsTheBatchesOfTheStream) {
  Course course({.until = Until::batches(12), .save_every = Every::parse("6ba").value()}, Decides::kTime);
  RunPosition resumed{.steps = 1, .batches = 3, .samples = 24, .epoch_samples = kEpochSamples};
  course.begin_at(resumed, Timestamp{});
  std::vector<std::uint64_t> saves;
  for (std::uint64_t batches = 6; !course.is_over(); batches += 3) {
    course.end_step({.samples = 8 * batches, .epoch_samples = kEpochSamples, .batches = batches},
                    Timestamp{1s});
    course.take(0);
    if (course.is_save_due()) saves.push_back(course.position().steps);
  }
  EXPECT_THAT(saves, ElementsAre(2, 4));
  EXPECT_EQ(record_of(course.position()).batches, 12u);
}

TEST(Course, TimeEndsItOverAllAttempts) {
  const Course::Rules rules{.until = Until::duration(10s), .save_every = Every::steps(100)};
  EXPECT_THAT(Walk(rules).saves(100), ElementsAre(10));
  RunPosition resumed{.steps = 7, .batches = 7, .epoch_samples = kEpochSamples, .trained = 7s};
  EXPECT_THAT(Walk(rules, resumed).saves(100), ElementsAre(10));
  resumed.trained = 10s;
  EXPECT_TRUE(Walk(rules, resumed).course.is_over()) << "it was over before";
}

TEST(Course, OnlyOneRankLooksAtTheTimeAndAllDoWhatWasAgreed) {
  const Course::Rules rules{.until = Until::duration(10s), .save_every = Every::duration(3s)};
  Course first(rules, Decides::kTime);
  Course second(rules, Decides::kCounts);
  for (Course* course : {&first, &second}) course->begin_at({}, Timestamp{});
  EXPECT_TRUE(first.needs_agreement());
  for (Course* course : {&first, &second}) course->end_step({}, Timestamp{4s});
  EXPECT_EQ(first.wishes(), control::kSave);
  EXPECT_EQ(second.wishes(), 0u);
  EXPECT_FALSE(first.is_save_due()) << "nobody agreed yet";
  for (Course* course : {&first, &second}) course->take(0);
  EXPECT_EQ(first.wishes(), control::kSave) << "until it is agreed";
  for (Course* course : {&first, &second}) course->take(control::kSave);
  EXPECT_TRUE(first.is_save_due() && second.is_save_due());
  EXPECT_EQ(first.wishes(), 0u);
  for (Course* course : {&first, &second}) course->end_step({}, Timestamp{11s});
  EXPECT_EQ(first.wishes(), control::kSave | control::kEnd);
  EXPECT_FALSE(first.is_over() || second.is_over());
  for (Course* course : {&first, &second}) course->take(control::kEnd);
  EXPECT_TRUE(first.is_over() && second.is_over());
  EXPECT_TRUE(first.is_save_due() && second.is_save_due()) << "the last state is saved";
}

TEST(Course, BySelfSavesAsOftenAsItIsTold) {
  Walk walk({.until = Until::steps(60), .save_every = Every::automatic()});
  EXPECT_THAT(walk.saves(25), ElementsAre(10, 20)) << "ten seconds at least, until something was measured";
  walk.course.set_save_interval(15s);
  EXPECT_THAT(walk.saves(100), ElementsAre(35, 50, 60));
}

TEST(Course, CountsNoEpochsWithoutAStream) {
  for (const auto& rules :
       {Course::Rules{.until = Until::epochs(2)}, Course::Rules{.until = Until::samples(9)},
        Course::Rules{.until = Until::steps(9), .save_every = Every::epochs({1, 2})}}) {
    Course course(rules, Decides::kTime);
    EXPECT_THROW(course.begin_at({}, Timestamp{}), std::invalid_argument);
  }
}

TEST(Course, OfAnOlderManifestTheStepsAreKnown) {
  const auto position = position_of(12, std::nullopt, {.samples = 768, .epoch_samples = kEpochSamples});
  EXPECT_EQ(position.steps, 12u);
  EXPECT_EQ(position.batches, 12u);
  EXPECT_EQ(position.samples, 768u);
  EXPECT_EQ(position.trained, 0s);
}

}  // namespace
}  // namespace ratoon::session::course_test
