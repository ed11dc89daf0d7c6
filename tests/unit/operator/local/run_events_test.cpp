#include "operator/local/folder/run_events.h"

#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/operator_builders.h"

namespace ratoon::local::run_events_test {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;

class RunEventsTest : public testing::Test {
 protected:
  RunEventsTest() {
    job_.status.step = Step(0);
    pods_ = {test::pod(0), test::pod(1)};
  }
  // The kinds of the lines since the last call; the lines stay in lines_.
  std::vector<std::string> look(milliseconds later = milliseconds(0)) {
    lines_.clear();
    now_.since_epoch += later;
    at_ = at_ + later;
    events_.observe(job_.status, pods_, now_, at_);
    std::vector<std::string> kinds;
    for (const auto& line : lines_) kinds.push_back(line["kind"].get<std::string>());
    return kinds;
  }

  std::vector<json> lines_;
  RunEvents events_{[this](const std::string& line) {
    EXPECT_EQ(line.find('\n'), line.size() - 1);
    lines_.push_back(json::parse(line));
  }};
  api::TrainingJob job_ = test::job(2);
  std::vector<api::Pod> pods_;
  WallTime now_{std::chrono::seconds(1000)};
  Timestamp at_{std::chrono::seconds(50)};
};

TEST_F(RunEventsTest, ALifeBeginsWithTheFormatAndTheJob) {
  events_.begin(job_, now_, at_);
  EXPECT_EQ(
      lines_.at(0),
      json({{"kind", "run"}, {"events", 1}, {"job", job_.meta.name}, {"time", "1970-01-01T00:16:40.000Z"}}));
}

TEST_F(RunEventsTest, WhatStaysTheSameIsWrittenOnce) {
  events_.begin(job_, now_, at_);
  EXPECT_THAT(look(), ElementsAre("member", "member", "world"));
  EXPECT_THAT(look(milliseconds(1000)), IsEmpty());
}

TEST_F(RunEventsTest, ALossAndWhatFollowsIt) {
  events_.begin(job_, now_, at_);
  look();
  pods_[1] = test::ended_pod(1, 137);
  job_.status.is_world_formed = false;
  EXPECT_THAT(look(), ElementsAre("member", "apart"));
  EXPECT_EQ(lines_[0]["exitCode"], 137);
  EXPECT_EQ(lines_[0]["state"], "failed");
  EXPECT_EQ(lines_[1]["attempt"], 1);

  pods_[1] = test::pod(1, 1);
  EXPECT_THAT(look(), ElementsAre("member", "member"));
  EXPECT_EQ(lines_[1]["state"], "gone");

  job_.status.attempt = Attempt(2);
  job_.status.is_world_formed = true;
  job_.status.last_disruption =
      api::Disruption{.member = "a", .lost_steps = 7, .phases = {.load_seconds = 2}};
  EXPECT_THAT(look(), ElementsAre("world", "recovery"));
  EXPECT_EQ(lines_[1]["disruption"]["phases"]["loadSeconds"], 2.0);
  EXPECT_THAT(look(), IsEmpty());
}

TEST_F(RunEventsTest, EachPartOfTheLedgerIsALineWithTheSumsBeforeIt) {
  job_.status.is_world_formed = false;
  pods_.clear();
  auto& ledger = job_.status.ledger;
  ledger.since = now_;
  events_.begin(job_, now_, at_);
  EXPECT_THAT(look(), ElementsAre("ledger"));
  EXPECT_EQ(lines_[0]["ledger"]["part"], "restarting");
  ledger.newest_step = Step(3);
  EXPECT_THAT(look(milliseconds(1000)), IsEmpty());
  ledger.seconds[static_cast<std::size_t>(ledger.part)] = 2;
  ledger.part = api::TimeLedgerPart::kUseful;
  ledger.since->since_epoch += std::chrono::seconds(2);
  EXPECT_THAT(look(milliseconds(1000)), ElementsAre("ledger"));
  EXPECT_EQ(lines_[0]["ledger"]["part"], "useful");
  EXPECT_EQ(lines_[0]["ledger"]["restartingSeconds"], 2.0);
  ledger.since.reset();
  EXPECT_THAT(look(), ElementsAre("ledger"));
  EXPECT_FALSE(lines_[0]["ledger"].contains("part"));
}

TEST_F(RunEventsTest, AWorldThatFollowsAnotherAtOnceEndsTheOther) {
  events_.begin(job_, now_, at_);
  look();
  job_.status.attempt = Attempt(2);
  EXPECT_THAT(look(), ElementsAre("apart", "world"));
}

TEST_F(RunEventsTest, StepsOfALongRunAreFew) {
  events_.begin(job_, now_, at_);
  look();
  std::size_t lines = 0;
  constexpr int kHours = 11;
  for (int i = 0; i < kHours * 3600; ++i) {
    job_.status.step = Step(job_.status.step.value() + 1);
    lines += look(milliseconds(1000)).size();
  }
  EXPECT_GT(lines, 500u);
  EXPECT_LT(lines, 2000u);
}

TEST_F(RunEventsTest, StepsAreWrittenAlsoAfterTheSystemClockWentBack) {
  events_.begin(job_, now_, at_);
  look();
  job_.status.step = Step(1);
  EXPECT_THAT(look(milliseconds(1000)), ElementsAre("step"));
  now_.since_epoch -= std::chrono::hours(1);
  for (std::uint64_t step = 2; step <= 4; ++step) {
    job_.status.step = Step(step);
    EXPECT_THAT(look(milliseconds(1000)), ElementsAre("step"));
  }
  job_.status.step = Step(5);
  EXPECT_THAT(look(milliseconds(100)), IsEmpty()) << "the pause between two lines stays";
}

TEST_F(RunEventsTest, ARunThatGoesOnTellsNothingOfTheLastOne) {
  job_.status.last_disruption = api::Disruption{.member = "a"};
  job_.status.step = Step(5);
  events_.begin(job_, now_, at_);
  pods_.clear();
  EXPECT_THAT(look(), ElementsAre("world")) << "the world is another one, whatever was stored of the last";
}

}  // namespace
}  // namespace ratoon::local::run_events_test
