#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/report/account.h"
#include "tests/unit/cli/report/run_facts_builders.h"

namespace ratoon::cli::report_test {
namespace {

using testing::ElementsAre;

TEST(ReportAccountTest, AnAttemptOfWhichOnlyPacksAreLeftIsALossToo) {
  RunFacts facts{.name = "quiet", .folder = "runs/quiet"};
  facts.history.attempts = {1, 3};
  facts.uncommitted = {2};
  facts.history.ledger_rows = {row(0, 1, 0, 0), row(2, 1, 20, 0), row(6, 3, 10, 0), row(9, 3, 30, 0)};
  const Report report = make_report(facts);
  EXPECT_EQ(report.attempts, 3u);
  EXPECT_EQ(report.loss_count, 2u);
}

// Two starts of `ratoon run`, as an operator counts them: 3 s until the first step, steps until a loss at 12
// s that is seen at 15 s, then a hang, and the runner is killed at 26 s. The next one begins at 40 s.
RunFacts run_with_a_ledger() {
  RunFacts facts{.name = "digits", .folder = "runs/digits"};
  api::JobTimeLedger ledger;
  const auto line = [&](double at, api::TimeLedgerPart part, std::optional<double> since) {
    ledger.part = part;
    ledger.since = since ? std::optional(WallTime{from_seconds(kBegan + *since)}) : std::nullopt;
    RunEvent e = event(at, "ledger");
    e.ledger = ledger;
    facts.events.push_back(e);
  };
  const auto spend = [&](api::TimeLedgerPart part, double seconds) {
    ledger.seconds[static_cast<std::size_t>(part)] += seconds;
  };
  using enum api::TimeLedgerPart;
  facts.events = {event(0, "run"), member(1, "w-0-i0", 0, "running"), world(2, 1)};
  line(0, kRestarting, 0);
  ledger.newest_attempt = Attempt(1);
  spend(kRestarting, 3);
  line(3, kUseful, 3);
  spend(kUseful, 9);
  line(15, kRestarting, 12);
  ledger.newest_attempt = Attempt(2);
  ledger.repeated_step_count = 12;
  spend(kRestarting, 4);
  line(16, kRecomputed, 16);
  spend(kRecomputed, 2);
  line(18, kUseful, 18);
  spend(kUseful, 2);
  spend(kHung, 3);
  line(23, kRestarting, 23);
  facts.events.push_back(event(26, "step"));
  facts.events.push_back(event(40, "run"));
  facts.events.push_back(world(41, 3));
  line(41, kRestarting, 23);
  ledger.newest_attempt = Attempt(3);
  ledger.repeated_step_count = 22;
  spend(kRestarting, 19);
  line(42, kUseful, 42);
  spend(kUseful, 8);
  line(50, kRestarting, std::nullopt);
  RunEvent end = event(51, "end");
  end.phase = "Succeeded";
  facts.events.push_back(end);
  facts.status.emplace();
  facts.status->ledger = ledger;
  facts.status->restarts = {.application = 1, .hung = 1, .disruption = 2};
  return facts;
}

TEST(ReportAccountTest, TheTimeIsThatOfTheJobsLedger) {
  const Report report = make_report(run_with_a_ledger());
  EXPECT_THAT(report.account, ElementsAre(testing::Pair("useful", 19.0), testing::Pair("recomputed", 2.0),
                                          testing::Pair("hung", 3.0), testing::Pair("starting", 5.0),
                                          testing::Pair("restarting", 7.0), testing::Pair("ending", 1.0),
                                          testing::Pair("away", 14.0)));
  EXPECT_EQ(report.repeated_step_count, 22u) << "also after the time without a runner";
  EXPECT_EQ(report.loss_count, 4u) << "as the status counts them, drawn or not";
}

TEST(ReportAccountTest, TheRanksSplitTheUsefulTimeOfTheLedger) {
  RunFacts facts = run_with_a_ledger();
  facts.history.ledger = {{"useful", 3}, {"save_stall", 4}, {"data_wait", 2}, {"validation", 5}};
  const Report report = make_report(facts);
  EXPECT_NEAR(spent(report, "save_stall"), 4, 1e-6);
  EXPECT_NEAR(spent(report, "data_wait"), 2, 1e-6);
  EXPECT_NEAR(spent(report, "validation"), 5, 1e-6);
  EXPECT_NEAR(spent(report, "useful"), 8, 1e-6) << "of 19 s";
}

TEST(ReportAccountTest, SavesDoNotTakeThePlaceOfStepsWhereTheOperatorCountsLessTimeThanTheRanks) {
  RunFacts facts = run_with_a_ledger();
  facts.history.ledger = {{"useful", 2}, {"save_stall", 32}, {"data_wait", 4}};
  const Report report = make_report(facts);
  EXPECT_NEAR(spent(report, "useful"), 1, 1e-6) << "2 of 38 s of the ranks are 1 of 19 s";
  EXPECT_NEAR(spent(report, "save_stall"), 16, 1e-6);
  EXPECT_NEAR(spent(report, "data_wait"), 2, 1e-6);
}

TEST(ReportAccountTest, AFailedRunHasNoUsefulTime) {
  RunFacts facts = run_with_a_ledger();
  facts.events.back().phase = "Failed";
  const Report report = make_report(facts);
  EXPECT_NEAR(spent(report, "useful"), 0, 1e-6);
  EXPECT_NEAR(spent(report, "unfinished"), 19, 1e-6);
  for (const TimelineBar& bar : report.rows[0].bars) EXPECT_NE(bar.part, "useful");
}

TEST(ReportAccountTest, AWorldThatMadeNoStepWasNotUseful) {
  RunFacts facts = run_with_a_loss();
  std::erase_if(facts.history.steps, [](const HistoryRow& row) { return row.attempt == 2; });
  EXPECT_NEAR(spent(make_report(facts), "useful"), 6, 1e-6) << "4 to 10 s";
}

TEST(ReportAccountTest, TheProgramsReasonForTheEndIsThatOfTheStatusOrOfTheCheckpoint) {
  RunFacts facts = run_with_a_loss();
  facts.checkpoints = {{.step = 10, .attempt = 2, .state = "complete", .finish_reason = "enough"},
                       {.step = 4}};
  EXPECT_EQ(make_report(facts).finish_reason, "enough");
  facts.status.emplace().finish_reason = "the loss no longer falls";
  EXPECT_EQ(make_report(facts).finish_reason, "the loss no longer falls");
  facts.status.reset();
  facts.checkpoints.front().finish_reason.clear();
  EXPECT_EQ(make_report(facts).finish_reason, "");
}

TEST(ReportAccountTest, ARunOfOneStepHasNoRate) {
  RunFacts facts = run_with_a_loss();
  facts.history.steps = {row(4, 1, 1, 0)};
  EXPECT_TRUE(make_report(facts).rate.empty()) << "and no rate of 0, since a step was made";
}

TEST(ReportAccountTest, ACurveHasItsStepsAsWell) {
  const Report report = make_report(run_with_a_loss());
  ASSERT_EQ(report.curves.size(), 1u);
  ASSERT_EQ(report.curves[0].lines_by_step.size(), report.curves[0].lines.size());
  EXPECT_EQ(report.curves[0].lines_by_step.back().points.front().at, 4) << "where the line before it ends";
  EXPECT_EQ(report.curves[0].lines_by_step.back().points.back().at, 10);
}

}  // namespace
}  // namespace ratoon::cli::report_test
