#include "operator/runtime/metrics/operator_metrics.h"

#include <algorithm>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ratoon::runtime::operator_metrics_test {
namespace {

using testing::HasSubstr;
using testing::Not;

const JobKey kJob{.name_space = "default", .name = "digits"};

std::string text_of(OperatorMetrics& metrics, WallTime now = {}) {
  std::string text;
  metrics.write(now, [&](std::string_view piece) {
    text += piece;
    return true;
  });
  return text;
}

std::size_t count(std::string_view what, std::string_view text) {
  std::size_t found = 0;
  for (auto at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

// A series of the job, up to its value.
std::string series(std::string_view metric, std::string_view label) {
  return std::string(metric) + "{" + std::string(label) +
         R"(,training_job="digits",training_namespace="default"})";
}

TEST(OperatorMetrics, EverySeriesOfAJobIsThereFromItsFirstDecision) {
  OperatorMetrics metrics;
  metrics.note_status(kJob, {}, {});
  const std::string text = text_of(metrics);
  EXPECT_THAT(text, HasSubstr(series("ratoon_job_phase", R"(phase="Pending")") + " 1"));
  EXPECT_THAT(text, HasSubstr(series("ratoon_job_phase", R"(phase="Running")") + " 0"));
  EXPECT_THAT(text, HasSubstr(series("ratoon_restarts_total", R"(cause="disruption")") + " 0"));
  EXPECT_THAT(text, HasSubstr(series("ratoon_recovery_seconds_count", R"(phase="detect")") + " 0"));
}

TEST(OperatorMetrics, ALossAndARecoveryAreCountedOnce) {
  OperatorMetrics metrics;
  api::TrainingJobStatus after;
  after.restarts.disruption = 2;
  after.restarts.hung = 3;
  after.ledger.repeated_step_count = 7;
  after.last_disruption = api::Disruption{.member = "w", .phases = {.detect_seconds = 3, .load_seconds = 1}};
  metrics.note_status(kJob, {}, after);
  metrics.note_status(kJob, after, after);
  const std::string text = text_of(metrics);
  EXPECT_THAT(text, HasSubstr(series("ratoon_restarts_total", R"(cause="disruption")") + " 2"));
  EXPECT_THAT(text, HasSubstr(series("ratoon_restarts_total", R"(cause="hung")") + " 3"));
  EXPECT_THAT(text, HasSubstr(series("ratoon_recovery_seconds_sum", R"(phase="total")") + " 4"));
  EXPECT_THAT(text, HasSubstr("ratoon_job_steps_made_again_total{training_job=\"digits\","
                              "training_namespace=\"default\"} 7"));
  EXPECT_THAT(text, HasSubstr(series("ratoon_recovery_seconds_count", R"(phase="total")") + " 1"));
}

// Finished jobs stay for weeks, and 152 series for each of thousands of them exceed a limit of Prometheus.
TEST(OperatorMetrics, AFinishedJobWithoutRecoveriesHasNoSeriesOfThem) {
  OperatorMetrics metrics;
  api::TrainingJobStatus after;
  after.phase = api::JobPhase::kSucceeded;
  metrics.note_status(kJob, {}, after);
  EXPECT_THAT(text_of(metrics), HasSubstr(series("ratoon_job_phase", R"(phase="Succeeded")") + " 1"));
  EXPECT_THAT(text_of(metrics), Not(HasSubstr("ratoon_recovery_seconds_count{")));
  const auto before = after;
  after.last_disruption = api::Disruption{.member = "w", .phases = {.detect_seconds = 3}};
  metrics.note_status(kJob, before, after);
  EXPECT_THAT(text_of(metrics),
              HasSubstr(series("ratoon_recovery_seconds_count", R"(phase="detect")") + " 1"));
}

TEST(OperatorMetrics, ANewLeaderGoesOnFromTheTotalsThatAreStored) {
  OperatorMetrics metrics;
  api::TrainingJobStatus stored;
  stored.restarts = {.application = 1, .disruption = 7};
  auto after = stored;
  after.restarts.disruption = 8;
  metrics.note_status(kJob, stored, after);
  metrics.note_status(kJob, after, after);
  const std::string text = text_of(metrics);
  EXPECT_THAT(text, HasSubstr(series("ratoon_restarts_total", R"(cause="disruption")") + " 8"));
  EXPECT_THAT(text, HasSubstr(series("ratoon_restarts_total", R"(cause="application")") + " 1"));
}

std::string problem(std::string_view reason) {
  return series("ratoon_job_problem", "reason=\"" + std::string(reason) + "\"") + " 1\n";
}

TEST(OperatorMetrics, AProblemIsShownWhileTheJobRunsAndHasIt) {
  OperatorMetrics metrics;
  api::TrainingJobStatus status;
  status.conditions = {{.type = "Running", .is_true = false, .reason = "Waiting"},
                       {.type = "Scheduled", .is_true = false, .reason = "PodRefused"},
                       {.type = "InvalidSpec", .is_true = true, .reason = "TemplateRefused"}};
  metrics.note_status(kJob, {}, status);
  EXPECT_THAT(text_of(metrics), HasSubstr(problem("PodRefused")));
  EXPECT_THAT(text_of(metrics), HasSubstr(problem("TemplateRefused")));
  EXPECT_EQ(count("\nratoon_job_problem{", text_of(metrics)), 2U);
  for (const auto phase : {api::JobPhase::kSuspended, api::JobPhase::kFailed, api::JobPhase::kSucceeded}) {
    status.phase = phase;
    metrics.note_status(kJob, {}, status);
    EXPECT_EQ(count("\nratoon_job_problem{", text_of(metrics)), 0U) << "its conditions stay";
  }
  status.phase = api::JobPhase::kRunning;
  status.conditions[1] = {.type = "Scheduled", .is_true = true, .reason = "Placed"};
  status.conditions[2] = {.type = "InvalidSpec", .is_true = false, .reason = "Mended"};
  metrics.note_status(kJob, {}, status);
  EXPECT_EQ(count("\nratoon_job_problem{", text_of(metrics)), 0U);
}

TEST(OperatorMetrics, AnUnreadableJobKeepsItsSeriesAndOneThatWasNeverReadHasNone) {
  OperatorMetrics metrics;
  metrics.note_unreadable(kJob);
  EXPECT_THAT(text_of(metrics), HasSubstr(problem("Unreadable")));
  EXPECT_EQ(count("digits", text_of(metrics)), 1U) << "zeros would be false";
  api::TrainingJobStatus status;
  status.restarts.disruption = 2;
  metrics.note_status(kJob, {}, status);
  EXPECT_THAT(text_of(metrics), Not(HasSubstr("Unreadable"))) << "it can be read again";
  metrics.note_unreadable(kJob);
  EXPECT_THAT(text_of(metrics), HasSubstr(problem("Unreadable")));
  EXPECT_THAT(text_of(metrics), HasSubstr(series("ratoon_restarts_total", R"(cause="disruption")") + " 2"));
}

std::string spent(std::string_view part, int whole) {
  return "ratoon_job_ledger_seconds_total{part=\"" + std::string(part) +
         "\",training_job=\"digits\",training_namespace=\"default\"} " + std::to_string(whole) + "\n";
}

WallTime at(int second) {
  return {std::chrono::seconds(second)};
}

TEST(OperatorMetrics, WhatGoesOnGrowsBetweenTwoWritesOfTheStatus) {
  OperatorMetrics metrics;
  api::TrainingJobStatus status;
  status.ledger = {.seconds = {100, 2, 3, 4, 5, 6}, .part = api::TimeLedgerPart::kUseful, .since = at(1000)};
  metrics.note_status(kJob, status, status);
  EXPECT_THAT(text_of(metrics, at(1000)), HasSubstr(spent("useful", 100)));
  const std::string text = text_of(metrics, at(1007));
  EXPECT_THAT(text, HasSubstr("# TYPE ratoon_job_ledger_seconds_total counter\n"));
  EXPECT_THAT(text, HasSubstr(spent("useful", 107)));
  EXPECT_THAT(text, HasSubstr(spent("recomputed", 2)));
  EXPECT_THAT(text, HasSubstr(spent("waiting_for_capacity", 3)));
  EXPECT_THAT(text, HasSubstr(spent("restarting", 4)));
  EXPECT_THAT(text, HasSubstr(spent("hung", 5)));
  EXPECT_THAT(text, HasSubstr(spent("suspended", 6)));
}

TEST(OperatorMetrics, ALossThatWasNoticedLateTakesNoSecondsBack) {
  OperatorMetrics metrics;
  api::TrainingJobStatus before;
  before.ledger = {.seconds = {100}, .part = api::TimeLedgerPart::kUseful, .since = at(1000)};
  metrics.note_status(kJob, before, before);
  EXPECT_THAT(text_of(metrics, at(1010)), HasSubstr(spent("useful", 110)));
  auto after = before;
  after.ledger = {.seconds = {107}, .part = api::TimeLedgerPart::kRestarting, .since = at(1007)};
  metrics.note_status(kJob, before, after);
  EXPECT_THAT(text_of(metrics, at(1011)), HasSubstr(spent("useful", 110)));
  EXPECT_THAT(text_of(metrics, at(1011)), HasSubstr(spent("restarting", 4)));
  EXPECT_THAT(text_of(metrics, at(900)), HasSubstr(spent("restarting", 4))) << "a clock that was set back";
  before = after;
  after.ledger = {.seconds = {107, 0, 0, 13}, .part = api::TimeLedgerPart::kUseful, .since = at(1020)};
  metrics.note_status(kJob, before, after);
  EXPECT_THAT(text_of(metrics, at(1024)), HasSubstr(spent("useful", 111))) << "it has caught up";
  metrics.note_status(kJob, {}, {});
  EXPECT_THAT(text_of(metrics, at(1024)), HasSubstr(spent("useful", 0))) << "another job of that name";
}

TEST(OperatorMetrics, AJobThatIsGoneLeavesNoSeriesAndComesBackAtZero) {
  OperatorMetrics metrics;
  api::TrainingJobStatus after;
  after.restarts.disruption = 2;
  metrics.note_status(kJob, {}, after);
  metrics.note_decision_seconds(0.002);
  metrics.note_status({.name_space = "default", .name = "other"}, {}, {});
  metrics.forget(kJob);
  EXPECT_THAT(text_of(metrics), Not(HasSubstr("digits")));
  EXPECT_THAT(text_of(metrics), HasSubstr("other"));
  EXPECT_THAT(text_of(metrics), HasSubstr("ratoon_reconcile_seconds_count 1\n")) << "of all jobs alike";
  metrics.note_status(kJob, {}, {});
  EXPECT_THAT(text_of(metrics), HasSubstr(series("ratoon_restarts_total", R"(cause="disruption")") + " 0"));
}

TEST(OperatorMetrics, RetriesAreCountedAndWhatFollowsANoticeIsTimed) {
  OperatorMetrics metrics;
  EXPECT_THAT(text_of(metrics), HasSubstr("\nratoon_reconcile_retries_total 0\n"))
      << "a rate needs a beginning";
  metrics.note_retry();
  metrics.note_retry();
  metrics.note_action_seconds(0.04);
  const std::string text = text_of(metrics);
  EXPECT_THAT(text, HasSubstr("\nratoon_reconcile_retries_total 2\n"));
  EXPECT_THAT(text, HasSubstr("ratoon_notice_to_action_seconds_bucket{le=\"0.025\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("ratoon_notice_to_action_seconds_bucket{le=\"0.05\"} 1\n"));
}

TEST(OperatorMetrics, ARecoveryIsInTheBucketsFromItsBoundOn) {
  OperatorMetrics metrics;
  api::TrainingJobStatus after;
  for (const double seconds : {3.0, 3.5, 1000.0}) {
    const auto before = after;
    after.last_disruption = api::Disruption{.member = "w", .phases = {.detect_seconds = seconds}};
    metrics.note_status(kJob, before, after);
  }
  const std::string text = text_of(metrics);
  const auto expect = [&](const std::string& bound, int events) {
    EXPECT_THAT(text, HasSubstr(R"(ratoon_recovery_seconds_bucket{phase="detect",training_job="digits",)"
                                R"(training_namespace="default",le=")" +
                                bound + "\"} " + std::to_string(events) + "\n"));
  };
  expect("2", 0);
  expect("3", 1);
  expect("4", 2);
  expect("300", 2);
  expect("+Inf", 3);
}

TEST(OperatorMetrics, AThousandJobsComeInPiecesUnderOneHeadEach) {
  OperatorMetrics metrics;
  for (int i = 0; i < 1000; ++i)
    metrics.note_status({.name_space = "default", .name = "job-" + std::to_string(i)}, {}, {});
  std::size_t largest = 0;
  std::string text;
  metrics.write({}, [&](std::string_view piece) {
    largest = std::max(largest, piece.size());
    text += piece;
    return true;
  });
  EXPECT_LT(largest, 1'000'000U);
  EXPECT_EQ(count("# TYPE ", text), 13U) << "ratoon_build_info and the families of jobs and of the operator";
  EXPECT_EQ(count("\nratoon_job_step{", text), 1000U);
  EXPECT_EQ(count("\nratoon_recovery_seconds_count{", text), 8000U);
  EXPECT_EQ(text.find("ratoon_job_step{", text.find("# TYPE ratoon_restarts_total")), std::string::npos)
      << "the series of a family stand together";
}

TEST(OperatorMetrics, WhoWantsNoMoreGetsNoMore) {
  OperatorMetrics metrics;
  metrics.note_status(kJob, {}, {});
  int pieces = 0;
  metrics.write({}, [&](std::string_view) { return ++pieces < 3; });
  EXPECT_EQ(pieces, 3);
}

}  // namespace
}  // namespace ratoon::runtime::operator_metrics_test
