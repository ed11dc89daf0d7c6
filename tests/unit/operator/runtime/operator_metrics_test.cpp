#include "operator/runtime/operator_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ratoon::runtime {
namespace {

using testing::HasSubstr;
using testing::Not;

const JobKey kJob{.name_space = "default", .name = "digits"};

TEST(OperatorMetrics, EverySeriesOfAJobIsThereFromItsFirstDecision) {
  OperatorMetrics metrics;
  metrics.note_status(kJob, {}, {});
  const std::string text = metrics.text();
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
  const std::string text = metrics.text();
  EXPECT_THAT(text,
              HasSubstr(R"(ratoon_restarts_total{cause="disruption",job="digits",namespace="default"} 2)"));
  EXPECT_THAT(text, HasSubstr(R"(ratoon_restarts_total{cause="hung",job="digits",namespace="default"} 3)"));
  EXPECT_THAT(text,
              HasSubstr(R"(ratoon_recovery_seconds_sum{job="digits",namespace="default",phase="total"} 4)"));
  EXPECT_THAT(
      text, HasSubstr(R"(ratoon_recovery_seconds_count{job="digits",namespace="default",phase="total"} 1)"));
}

TEST(OperatorMetrics, AJobThatIsGoneLeavesNoSeriesAndComesBackAtZero) {
  OperatorMetrics metrics;
  api::TrainingJobStatus after;
  after.restarts.disruption = 2;
  metrics.note_status(kJob, {}, after);
  metrics.note_decision_seconds(0.002);
  metrics.note_status({.name_space = "default", .name = "other"}, {}, {});
  metrics.forget(kJob);
  EXPECT_THAT(metrics.text(), Not(HasSubstr("digits")));
  EXPECT_THAT(metrics.text(), HasSubstr("other"));
  EXPECT_THAT(metrics.text(), HasSubstr("ratoon_reconcile_seconds_count 1\n")) << "of all jobs alike";
  metrics.note_status(kJob, {}, {});
  EXPECT_THAT(metrics.text(),
              HasSubstr(R"(ratoon_restarts_total{cause="disruption",job="digits",namespace="default"} 0)"));
}

}  // namespace
}  // namespace ratoon::runtime
