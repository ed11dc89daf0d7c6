#include "operator/runtime/metrics/self_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ratoon::runtime::self_metrics_test {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(SelfMetrics, CallsAreCountedByWhatTheyWereAndWhatCameBack) {
  SelfMetrics metrics;
  for (int i = 0; i < 2; ++i)
    metrics.note_call({.verb = "create", .resource = "pods", .status = 201, .seconds = 0.02});
  metrics.note_call({.verb = "create", .resource = "pods", .status = 409, .seconds = 0.03});
  metrics.note_call({.verb = "get", .resource = "pods", .status = 0, .seconds = 30});
  const std::string text = metrics.text({});
  EXPECT_THAT(text, HasSubstr(R"(ratoon_api_calls_total{code="201",resource="pods",verb="create"} 2)"));
  EXPECT_THAT(text, HasSubstr(R"(ratoon_api_calls_total{code="409",resource="pods",verb="create"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(ratoon_api_calls_total{code="0",resource="pods",verb="get"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(ratoon_api_seconds_count{verb="create"} 3)"));
  EXPECT_THAT(text, HasSubstr(R"(ratoon_api_seconds_bucket{verb="create",le="0.025"} 2)"));
}

TEST(SelfMetrics, AWatchIsCountedAndItsLengthIsNoAnswerTime) {
  SelfMetrics metrics;
  metrics.note_call({.verb = "watch", .resource = "nodes", .status = 200, .seconds = 44});
  const std::string text = metrics.text({});
  EXPECT_THAT(text, HasSubstr(R"(ratoon_api_calls_total{code="200",resource="nodes",verb="watch"} 1)"));
  EXPECT_THAT(text, Not(HasSubstr("ratoon_api_seconds_count{")));
}

TEST(SelfMetrics, WhatIsKeptElsewhereIsToldAsItIsWhenAsked) {
  SelfMetrics metrics;
  const OperatorVitals first{.seconds_behind = {{"pods", 0}, {"nodes", 2.5}},
                             .backlog = {.jobs = 3, .longest_wait_seconds = 0.5},
                             .load = {.messages = 100, .parked = 7},
                             .is_leading = true,
                             .certificate_expires_at = WallTime{std::chrono::seconds(1'800'000'000)},
                             .memory_bytes = 4096,
                             .cpu_seconds = 1.25};
  const std::string text = metrics.text(first);
  EXPECT_THAT(text, HasSubstr(R"(ratoon_cache_staleness_seconds{resource="nodes"} 2.5)"));
  EXPECT_THAT(text, HasSubstr(R"(ratoon_cache_staleness_seconds{resource="pods"} 0)"));
  for (const char* line : {"\nratoon_reconcile_queue_jobs 3\n", "\nratoon_reconcile_queue_wait_seconds 0.5\n",
                           "\nratoon_messages_total 100\n", "\nratoon_long_polls 7\n", "\nratoon_leading 1\n",
                           "\nratoon_coordinator_certificate_expiry_timestamp_seconds 1800000000\n",
                           "\nprocess_resident_memory_bytes 4096\n", "\nprocess_cpu_seconds_total 1.25\n"})
    EXPECT_THAT(text, HasSubstr(line));

  const std::string later = metrics.text({.load = {.messages = 130, .parked = 0}, .cpu_seconds = 1.5});
  for (const char* line :
       {"\nratoon_reconcile_queue_jobs 0\n", "\nratoon_messages_total 130\n", "\nratoon_long_polls 0\n",
        "\nratoon_leading 0\n", "\nprocess_cpu_seconds_total 1.5\n"})
    EXPECT_THAT(later, HasSubstr(line));
}

TEST(SelfMetrics, TheBuildIsOneSeries) {
  EXPECT_THAT(SelfMetrics().text({}),
              testing::ContainsRegex("\nratoon_build_info\\{contract=\"1\",version=\"[0-9.]+\"\\} 1\n"));
}

TEST(SelfMetrics, WithoutACertificateThereIsNoEndOfOne) {
  SelfMetrics metrics;
  EXPECT_THAT(metrics.text({}), Not(HasSubstr("\nratoon_coordinator_certificate_expiry_timestamp_seconds ")));
}

TEST(SelfMetrics, AProcessHasMemoryAndTookTime) {
  OperatorVitals vitals;
  measure_process(vitals);
  EXPECT_GT(vitals.memory_bytes, 1e6);
  EXPECT_LT(vitals.memory_bytes, 1e12);
  EXPECT_GT(vitals.cpu_seconds, 0);
}

}  // namespace
}  // namespace ratoon::runtime::self_metrics_test
