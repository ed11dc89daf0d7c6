#include "operator/local/folder/run_journal.h"

#include <gtest/gtest.h>

#include "tests/support/operator_builders.h"

namespace ratoon::local::run_journal_test {
namespace {

using test::at_seconds;

TEST(ProgressRate, IsOfTheLastHalfMinute) {
  ProgressRate pace;
  EXPECT_EQ(pace.steps_per_second(), std::nullopt);
  pace.add_point({.at = at_seconds(0), .steps = 0, .position = 0});
  EXPECT_EQ(pace.steps_per_second(), std::nullopt) << "nothing moved yet";
  for (std::uint64_t second = 1; second <= 100; ++second)
    pace.add_point({.at = at_seconds(static_cast<double>(second)), .steps = second, .position = 10 * second});
  for (std::uint64_t second = 101; second <= 140; ++second)
    pace.add_point({.at = at_seconds(static_cast<double>(second)),
                    .steps = 100 + 2 * (second - 100),
                    .position = 10 * (100 + 2 * (second - 100))});
  EXPECT_DOUBLE_EQ(*pace.steps_per_second(), 2);
  EXPECT_DOUBLE_EQ(*pace.seconds_to(2000), 10);
  EXPECT_DOUBLE_EQ(*pace.seconds_to(5), 0) << "it is past that";
}

TEST(ProgressRate, BeginsAnewWhereStepsAreMadeAgain) {
  ProgressRate pace;
  pace.add_point({.at = at_seconds(0), .steps = 100, .position = 100});
  pace.add_point({.at = at_seconds(1), .steps = 200, .position = 200});
  pace.add_point({.at = at_seconds(2), .steps = 150, .position = 150});
  EXPECT_EQ(pace.steps_per_second(), std::nullopt);
  pace.add_point({.at = at_seconds(4), .steps = 160, .position = 160});
  EXPECT_DOUBLE_EQ(*pace.steps_per_second(), 5);
}

TEST(ProgressRate, KeepsTwoPointsHoweverSlow) {
  ProgressRate pace;
  pace.add_point({.at = at_seconds(0), .steps = 0, .position = 0});
  pace.add_point({.at = at_seconds(100), .steps = 1, .position = 1});
  EXPECT_DOUBLE_EQ(*pace.steps_per_second(), 0.01);
}

class RunJournalTest : public testing::Test {
 protected:
  // Rank 0's beat of an existing world, received at that second.
  void hear(double second, std::uint64_t step, std::optional<double> loss = {},
            const std::string& best = "") {
    api::ProcessFacts facts;
    facts.last_heard = at_seconds(second);
    facts.beat = Heartbeat{.process = {}, .attempt = Attempt(1), .step = Step(step)};
    facts.beat->outlook =
        ProgressEstimate{.position = step, .total = 1000, .unit = "step", .loss = loss, .best = best};
    book_.note_progress({facts}, test::job().status, at_seconds(second + 0.5));
  }
  RunJournal book_;
};

TEST_F(RunJournalTest, TellsHowFarHowFastAndHowLong) {
  EXPECT_FALSE(book_.describe().contains("progress"));
  hear(10, 100);
  EXPECT_FALSE(book_.describe()["progress"].contains("loss"));
  EXPECT_FALSE(book_.describe()["progress"].contains("best"));
  hear(20, 200, 0.25, "error 0.25 at step 150");
  const auto progress = book_.describe()["progress"];
  EXPECT_EQ(progress["position"], 200);
  EXPECT_EQ(progress["total"], 1000);
  EXPECT_EQ(progress["loss"], 0.25);
  EXPECT_EQ(progress["best"], "error 0.25 at step 150");
  EXPECT_EQ(progress["steps_per_second"], 10);
  EXPECT_EQ(progress["seconds_left"], 80);
}

TEST_F(RunJournalTest, AnotherWorldHasAPaceOfItsOwn) {
  hear(10, 100);
  hear(20, 200);
  auto status = test::job().status;
  status.attempt = Attempt(2);
  book_.note_progress({}, status, at_seconds(21));
  EXPECT_FALSE(book_.describe()["progress"].contains("steps_per_second"));
  EXPECT_EQ(book_.describe()["progress"]["position"], 200) << "where it stood is still known";
}

TEST_F(RunJournalTest, GoesOnWithTheNextRunAndKeepsTheNewest) {
  for (std::uint64_t i = 0; i <= RunJournal::kEntriesMax; ++i) {
    api::Disruption recovery{
        .member = "m", .node = "n", .reason = "", .time = {}, .lost_steps = i, .phases = {}};
    recovery.phases.detect_seconds = 1.5;
    book_.note_recovery(recovery);
  }
  book_.note_loss({}, "reclaim", "node-1", 30, "command");
  RunJournal next;
  next.restore(book_.describe());
  EXPECT_EQ(next.describe(), book_.describe());
  EXPECT_EQ(next.describe()["recoveries"].size(), RunJournal::kEntriesMax);
  EXPECT_EQ(next.describe()["recoveries"][0]["lost_steps"], 1);
  EXPECT_EQ(next.describe()["recoveries"][0]["seconds"], 1.5);
  EXPECT_EQ(next.describe()["on_purpose"][0]["notice_seconds"], 30);
}

TEST_F(RunJournalTest, WhatAnOlderRunnerLeftIsNoTrouble) {
  for (const char* text : {"null", "[]", "{}", R"({"recoveries":3,"on_purpose":[1,null]})"}) {
    RunJournal book;
    book.restore(nlohmann::json::parse(text));
    EXPECT_EQ(book.describe()["recoveries"].size(), 0u);
    EXPECT_EQ(book.describe()["on_purpose"].size(), 0u);
  }
}

}  // namespace
}  // namespace ratoon::local::run_journal_test
