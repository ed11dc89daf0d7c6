#include "cli/report/report.h"

#include <chrono>
#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/report/downsample.h"
#include "tests/unit/cli/report/run_facts_builders.h"

namespace ratoon::cli::report_test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(ReportTest, EverySecondIsInOnePart) {
  const Report report = make_report(run_with_a_loss());
  EXPECT_EQ(report.length, 20);
  EXPECT_EQ(report.standing, "completed");
  double sum = 0;
  for (const auto& [part, seconds] : report.account) sum += seconds;
  EXPECT_NEAR(sum, 20, 1e-6);
  EXPECT_NEAR(spent(report, "useful"), 6 + 5, 1e-6);  // 4 to 10 s, and 15 to 20 s
  EXPECT_NEAR(spent(report, "recomputed"), 1, 1e-6);  // from the first step again to the sixth: 14 to 15 s
  EXPECT_NEAR(spent(report, "starting"), 4, 1e-6);
  EXPECT_NEAR(spent(report, "restarting"), 4, 1e-6);  // 10 to 14 s
}

TEST(ReportTest, TheEndOfARunIsARestartOnlyWhereItFailed) {
  RunFacts facts = run_with_a_loss();
  facts.events.insert(facts.events.end() - 1, event(19, "apart"));
  EXPECT_NEAR(spent(make_report(facts), "ending"), 1, 1e-6);
  EXPECT_NEAR(spent(make_report(facts), "restarting"), 4, 1e-6);
  facts.events.back().phase = "Failed";
  EXPECT_NEAR(spent(make_report(facts), "ending"), 0, 1e-6);
  EXPECT_NEAR(spent(make_report(facts), "restarting"), 5, 1e-6);
}

TEST(ReportTest, TheTimeThatSavesHeldTrainingUpWasNotUseful) {
  RunFacts facts = run_with_a_loss();
  facts.history.saves = {row(6, 1, 2, 0.5), row(17, 2, 8, 1.5)};
  const Report report = make_report(facts);
  EXPECT_NEAR(spent(report, "save_stall"), 2, 1e-6);
  EXPECT_NEAR(spent(report, "useful"), 9, 1e-6);
}

TEST(ReportTest, AMemberHasARowWithTheGapInWhichItWasNot) {
  const Report report = make_report(run_with_a_loss());
  ASSERT_EQ(report.rows.size(), 3u);
  EXPECT_EQ(report.rows[2].name, "worker 1");
  std::vector<std::string> parts;
  std::vector<TimelineBar> absences;
  for (const TimelineBar& bar : report.rows[2].bars) {
    if (parts.empty() || parts.back() != bar.part) parts.push_back(bar.part);
    if (bar.part == "absent") absences.push_back(bar);
  }
  EXPECT_THAT(parts,
              ElementsAre("absent", "starting", "useful", "absent", "restarting", "recomputed", "useful"));
  ASSERT_EQ(absences.size(), 2u);
  EXPECT_NEAR(absences[1].begin, 10, 1e-6);
  EXPECT_NEAR(absences[1].end, 11, 1e-6);
  EXPECT_EQ(report.rows[0].bars.back().end, 20);
}

TEST(ReportTest, WhatWasMadeAgainIsALineOfItsOwn) {
  const Report report = make_report(run_with_a_loss());
  EXPECT_EQ(report.repeated_step_count, 2u);
  ASSERT_EQ(report.curves.size(), 1u);
  std::size_t undone = 0;
  for (const CurveLine& line : report.curves[0].lines) {
    if (line.is_kept) continue;
    undone += line.points.size();
    EXPECT_EQ(line.attempt, 1u);
  }
  EXPECT_EQ(undone, 2u);
}

TEST(ReportTest, LossesAndRecoveries) {
  const Report report = make_report(run_with_a_loss());
  ASSERT_EQ(report.losses.size(), 1u);
  EXPECT_NEAR(report.losses[0].at, 10, 1e-6);
  ASSERT_EQ(report.recoveries.size(), 1u);
  EXPECT_EQ(report.median_recovery, 3);
  EXPECT_EQ(report.recoveries[0].phases.size(), 7u);
  EXPECT_THAT(report.recoveries[0].phases, Contains(testing::Pair("load", 2.0)));
}

TEST(ReportTest, TheMedianOfTwoIsBetweenThem) {
  RunFacts facts = run_with_a_loss();
  RunEvent other = facts.events[9];
  ASSERT_EQ(other.kind, "recovery");
  other.disruption->phases.load_seconds += 4;
  facts.events.push_back(other);
  EXPECT_EQ(make_report(facts).median_recovery, 5);
}

TEST(ReportTest, ARunThatWasStoppedIsNotSaidToTrain) {
  RunFacts facts = run_with_a_loss();
  RunEvent end = event(20, "end");
  end.phase = "Running";
  end.message = "attempt 2 trains with 2 processes from step 4";
  facts.events.push_back(end);
  EXPECT_EQ(make_report(facts).standing, "stopped");
  EXPECT_EQ(make_report(facts).message, "");
  facts.events.back().phase = "Failed";
  facts.events.back().message = "maxRestarts (10) is used up";
  EXPECT_EQ(make_report(facts).message, "maxRestarts (10) is used up");
}

// The runner kills it, so its process group never failed.
TEST(ReportTest, WhoFellSilentIsALoss) {
  RunFacts facts = run_with_a_loss();
  facts.events[4].state = "deleting";
  facts.events[5].message = "w-1-i0: silent for too long";
  const Report report = make_report(facts);
  EXPECT_EQ(report.loss_count, 1u);
  ASSERT_EQ(report.losses.size(), 1u);
  EXPECT_EQ(report.losses[0].what, "w-1-i0: silent for too long");
}

TEST(ReportTest, WhoHandedOverOnNoticeIsNone) {
  RunFacts facts = run_with_a_loss();
  facts.events[5].reason = "NodeNotice";
  const Report report = make_report(facts);
  EXPECT_THAT(report.losses, IsEmpty());
  EXPECT_EQ(report.recovery_count, 1u);
}

TEST(ReportTest, OfManyLossesAllAreCounted) {
  RunFacts facts = run_with_a_loss();
  for (int i = 0; i < 999; ++i) facts.events.push_back(news(15, "MemberLost", "w-0-i0: ended by signal 9"));
  const Report report = make_report(facts);
  EXPECT_EQ(report.loss_count, 1000u);
  EXPECT_LT(report.losses.size(), 500u);
}

TEST(ReportTest, OfManyRecoveriesTheLongestStayInTime) {
  RunFacts facts = run_with_a_loss();
  RunEvent one = facts.events[9];
  ASSERT_EQ(one.kind, "recovery");
  for (int i = 0; i < 100; ++i) {
    one.disruption->phases.load_seconds = i;
    one.disruption->time = WallTime{from_seconds(kBegan + i)};
    facts.events.push_back(one);
  }
  const Report report = make_report(facts);
  EXPECT_EQ(report.recovery_count, 101u);
  EXPECT_EQ(report.recoveries.size(), 40u);
  EXPECT_EQ(report.recoveries.back().total, 100);
  EXPECT_TRUE(std::ranges::is_sorted(report.recoveries, {}, &Recovery::at));
}

TEST(ReportTest, AnEmptyRunIsSaidToBeOne) {
  const Report report = make_report({.name = "empty"});
  EXPECT_EQ(report.length, 0);
  EXPECT_THAT(report.rows, IsEmpty());
  EXPECT_THAT(report.missing_data_notes, Contains(HasSubstr("no events.jsonl")));
}

TEST(ReportTest, ARunWithoutEventsHasWorldsFromItsHistory) {
  RunFacts facts = run_with_a_loss();
  facts.events.clear();
  const Report report = make_report(facts);
  ASSERT_EQ(report.rows.size(), 1u);
  EXPECT_NEAR(spent(report, "restarting"), 5, 1e-6);  // from the last step of attempt 1 to the first of 2
  EXPECT_EQ(report.losses.size(), 1u);
  EXPECT_EQ(report.standing, "");
}

TEST(ReportTest, OfATrainerThatReportsNothingTheLedgerTellsOfAttemptsAndLosses) {
  RunFacts facts{.name = "quiet", .folder = "runs/quiet"};
  facts.history.attempts = {1, 2, 3};  // the third has saved nothing yet
  facts.history.ledger_rows = {row(0, 1, 0, 0), row(2, 1, 20, 0), row(6, 2, 10, 0), row(9, 2, 30, 0)};
  const Report report = make_report(facts);
  EXPECT_EQ(report.attempts, 3u);
  EXPECT_EQ(report.step, 30u);
  EXPECT_EQ(report.length, 9);
  ASSERT_EQ(report.losses.size(), 2u);
  EXPECT_NEAR(report.losses[0].at, 2, 1e-6) << "when attempt 1 was last heard of";
  EXPECT_NEAR(report.losses[1].at, 9, 1e-6);
  EXPECT_EQ(report.repeated_step_count, 10u) << "11 to 20, which no row of steps shows";
  ASSERT_EQ(report.rows.size(), 1u);
  EXPECT_FALSE(report.rate.empty());
}

TEST(ReportTest, ARunnerThatWasKilledEndsWithItsLastWordAndTheTimeUntilTheNextIsNobodys) {
  RunFacts facts = run_with_a_loss();
  facts.events.pop_back();  // its end
  facts.events.push_back(event(30, "run"));
  facts.events.push_back(event(31, "end"));
  const Report report = make_report(facts);
  EXPECT_NEAR(spent(report, "away"), 17, 1e-6);  // since the recovery at 13 s
}

TEST(ReportTest, WhatTheLedgerSaysCountsMore) {
  RunFacts facts = run_with_a_loss();
  facts.history.ledger = {{"hung", 3}, {"newest_step", 700}, {"useful", 1}, {"restarting", 0}};
  EXPECT_THAT(
      make_report(facts).account,
      ElementsAre(testing::Pair("useful", 1.0), testing::Pair("hung", 3.0), testing::Pair("starting", 4.0)))
      << "what was before the first rank is none of its seconds";
}

TEST(ReportTest, NumbersThatAreNoneAreCountedAndNotDrawn) {
  RunFacts facts = run_with_a_loss();
  facts.history.values["loss"][1].value = std::numeric_limits<double>::quiet_NaN();
  facts.history.values["loss"][2].value = std::numeric_limits<double>::infinity();
  const Report report = make_report(facts);
  EXPECT_EQ(report.curves[0].omitted_value_count, 2u);
  for (const CurveLine& line : report.curves[0].lines)
    for (const CurvePoint& point : line.points) EXPECT_TRUE(std::isfinite(point.value));
}

TEST(ReportTest, TheLastFailureIsThatOfTheStatusWithItsLastLines) {
  RunFacts facts = run_with_a_loss();
  EXPECT_FALSE(make_report(facts).last_failure);
  facts.status.emplace();
  EXPECT_FALSE(make_report(facts).last_failure);
  auto& failure = facts.status->last_failure.emplace();
  failure.member = "w-1-i0";
  failure.time = WallTime{from_seconds(kBegan + 10)};
  for (int i = 1; i <= 100; ++i) failure.last_lines += "line " + std::to_string(i) + "\n";
  const auto last = make_report(facts).last_failure;
  ASSERT_TRUE(last);
  EXPECT_EQ(last->failure.member, "w-1-i0");
  EXPECT_NEAR(last->at, 10, 1e-6);
  ASSERT_EQ(last->lines.size(), 40u);
  EXPECT_EQ(last->lines.front(), "line 61");
  EXPECT_EQ(last->lines.back(), "line 100");
}

TEST(ReportTest, TheRateIsOfTheStepsThatWereMade) {
  const Report report = make_report(run_with_a_loss());
  double steps = 0;
  for (const CurvePoint& point : report.rate)
    steps += point.value * report.length / static_cast<double>(report.rate.size());
  EXPECT_NEAR(steps, 5 + 5, 1e-6);  // of six moments of each attempt five pauses are known
}

TEST(DownsampleTest, NoPeakIsLostAndTheOrderStays) {
  std::vector<CurvePoint> points;
  for (int i = 0; i < 100'000; ++i) points.push_back({i * 0.01, i == 54'321 ? 99.0 : std::sin(i * 0.1)});
  const auto thinned = downsample(points, 1000, 100);
  EXPECT_LE(thinned.size(), 202u);
  EXPECT_GE(thinned.size(), 150u);
  EXPECT_THAT(thinned, Contains(testing::Field(&CurvePoint::value, 99.0)));
  EXPECT_TRUE(std::ranges::is_sorted(thinned, {}, &CurvePoint::at));
}

TEST(DownsampleTest, BarsThatNobodyCouldSeeAreLeftToTheOneBefore) {
  const auto thinned =
      downsample({{0, 5, "useful", ""}, {5, 5.01, "restarting", ""}, {5.01, 9, "useful", ""}}, 0.1);
  ASSERT_EQ(thinned.size(), 1u);
  EXPECT_EQ(thinned[0].end, 9);
}

}  // namespace
}  // namespace ratoon::cli::report_test
