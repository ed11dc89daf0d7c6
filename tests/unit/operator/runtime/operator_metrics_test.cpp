#include "operator/runtime/operator_metrics.h"

#include <algorithm>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ratoon::runtime {
namespace {

using testing::HasSubstr;
using testing::Not;

const JobKey kJob{.name_space = "default", .name = "digits"};

std::string text_of(const OperatorMetrics& metrics) {
  std::string text;
  metrics.write([&](std::string_view piece) {
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

TEST(OperatorMetrics, EverySeriesOfAJobIsThereFromItsFirstDecision) {
  OperatorMetrics metrics;
  metrics.note_status(kJob, {}, {});
  const std::string text = text_of(metrics);
  EXPECT_THAT(text, HasSubstr(R"(ratoon_job_phase{job="digits",namespace="default",phase="Pending"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(ratoon_job_phase{job="digits",namespace="default",phase="Running"} 0)"));
  EXPECT_THAT(text,
              HasSubstr(R"(ratoon_restarts_total{cause="disruption",job="digits",namespace="default"} 0)"));
  EXPECT_THAT(
      text, HasSubstr(R"(ratoon_recovery_seconds_count{job="digits",namespace="default",phase="detect"} 0)"));
}

TEST(OperatorMetrics, ALossAndARecoveryAreCountedOnce) {
  OperatorMetrics metrics;
  api::TrainingJobStatus after;
  after.restarts.disruption = 2;
  after.restarts.hung = 3;
  after.last_disruption = api::Disruption{.member = "w", .phases = {.detect_seconds = 3, .load_seconds = 1}};
  metrics.note_status(kJob, {}, after);
  metrics.note_status(kJob, after, after);
  const std::string text = text_of(metrics);
  EXPECT_THAT(text,
              HasSubstr(R"(ratoon_restarts_total{cause="disruption",job="digits",namespace="default"} 2)"));
  EXPECT_THAT(text, HasSubstr(R"(ratoon_restarts_total{cause="hung",job="digits",namespace="default"} 3)"));
  EXPECT_THAT(text,
              HasSubstr(R"(ratoon_recovery_seconds_sum{job="digits",namespace="default",phase="total"} 4)"));
  EXPECT_THAT(
      text, HasSubstr(R"(ratoon_recovery_seconds_count{job="digits",namespace="default",phase="total"} 1)"));
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
  EXPECT_THAT(text,
              HasSubstr(R"(ratoon_restarts_total{cause="disruption",job="digits",namespace="default"} 8)"));
  EXPECT_THAT(text,
              HasSubstr(R"(ratoon_restarts_total{cause="application",job="digits",namespace="default"} 1)"));
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
  EXPECT_THAT(text_of(metrics),
              HasSubstr(R"(ratoon_restarts_total{cause="disruption",job="digits",namespace="default"} 0)"));
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
    EXPECT_THAT(
        text,
        HasSubstr(R"(ratoon_recovery_seconds_bucket{job="digits",namespace="default",phase="detect",le=")" +
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
  metrics.write([&](std::string_view piece) {
    largest = std::max(largest, piece.size());
    text += piece;
    return true;
  });
  EXPECT_LT(largest, 1'000'000U);
  EXPECT_EQ(count("# TYPE ", text), 8U);
  EXPECT_EQ(count("\nratoon_job_step{", text), 1000U);
  EXPECT_EQ(count("\nratoon_recovery_seconds_count{", text), 8000U);
  EXPECT_EQ(text.find("ratoon_job_step{", text.find("# TYPE ratoon_restarts_total")), std::string::npos)
      << "the series of a family stand together";
}

TEST(OperatorMetrics, WhoWantsNoMoreGetsNoMore) {
  OperatorMetrics metrics;
  metrics.note_status(kJob, {}, {});
  int pieces = 0;
  metrics.write([&](std::string_view) { return ++pieces < 3; });
  EXPECT_EQ(pieces, 3);
}

}  // namespace
}  // namespace ratoon::runtime
