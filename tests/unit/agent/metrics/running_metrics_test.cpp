#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/failure.h>
#include <ratoon/metrics.h>

#include "tests/support/damaged_state.h"

namespace ratoon::running_metrics_test {
namespace {

TEST(Metrics, KeepSumWeightedMeanMinAndMax) {
  Metrics metrics;
  metrics.report("loss", 2.0, 10);
  metrics.report("loss", 1.0, 30);
  metrics.report("loss", -4.0, 0);  // of no samples: in the sum, not in the mean
  metrics.report("grad norm", 5.0);
  const Metric& loss = *metrics.find("loss");
  EXPECT_EQ(loss.reports, 3u);
  EXPECT_EQ(loss.samples, 40u);
  EXPECT_EQ(loss.sum, -1.0);
  EXPECT_EQ(loss.mean(), 1.25);
  EXPECT_EQ(loss.min, -4.0);
  EXPECT_EQ(loss.max, 2.0);
  EXPECT_EQ(metrics.find("grad norm")->mean(), 5.0);
  EXPECT_EQ(metrics.find("accuracy"), nullptr);
  EXPECT_EQ(metrics.all().size(), 2u);
  metrics.reset();
  EXPECT_EQ(metrics.find("loss"), nullptr);
}

TEST(Metrics, NotANumberStaysVisible) {
  Metrics metrics;
  metrics.report("loss", 1.0);
  metrics.report("loss", std::numeric_limits<double>::quiet_NaN());
  metrics.report("loss", 3.0);
  EXPECT_TRUE(std::isnan(metrics.find("loss")->mean()));
  EXPECT_EQ(metrics.find("loss")->min, 1.0);
  EXPECT_EQ(metrics.find("loss")->max, 3.0);
  Metrics none;
  none.report("loss", 1.0, 0);
  EXPECT_TRUE(std::isnan(none.find("loss")->mean()));
}

// The mean loss of an empty share of the last batch.
TEST(Metrics, WhatIsNoNumberOfNoSamplesSpoilsNoMean) {
  for (const double value :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    Metrics metrics;
    metrics.report("loss", 2.0, 4);
    metrics.report("loss", value, 0);
    EXPECT_EQ(metrics.find("loss")->mean(), 2.0);
  }
}

std::vector<std::uint64_t> double_to_hex(const Metric& metric) {
  std::vector<std::uint64_t> bits = {metric.reports, metric.samples};
  for (const double value : {metric.sum, metric.weighted_sum, metric.min, metric.max, metric.mean()})
    bits.push_back(std::bit_cast<std::uint64_t>(value));
  return bits;
}

// A third of a third: sums that have no short decimal form.
double value(int i) {
  return 1.0 / (3 + i) * (i % 5 - 2);
}

TEST(Metrics, AResumeGoesOnBitForBit) {
  Metrics unbroken;
  for (int i = 0; i < 1000; ++i) unbroken.report("loss", value(i), static_cast<std::uint64_t>(i % 7));
  for (const int cut : {0, 1, 500, 999}) {
    Metrics first;
    for (int i = 0; i < cut; ++i) first.report("loss", value(i), static_cast<std::uint64_t>(i % 7));
    Metrics second;
    second.report("of another life", 1.0);
    second.load_state(first.save_state());
    EXPECT_EQ(second.save_state(), first.save_state());
    for (int i = cut; i < 1000; ++i) second.report("loss", value(i), static_cast<std::uint64_t>(i % 7));
    EXPECT_EQ(second.save_state(), unbroken.save_state());
    EXPECT_EQ(double_to_hex(*second.find("loss")), double_to_hex(*unbroken.find("loss")));
  }
}

TEST(Metrics, StateKeepsOddNumbers) {
  Metrics metrics;
  metrics.report("minus zero", -0.0);
  metrics.report("nan", std::bit_cast<double>(0x7ff8000000000123ULL));
  metrics.report("infinity", std::numeric_limits<double>::infinity());
  metrics.report("tiny", std::numeric_limits<double>::denorm_min());
  metrics.report("many", 1.0, std::numeric_limits<std::uint64_t>::max());
  Metrics again;
  again.load_state(metrics.save_state());
  EXPECT_EQ(again.save_state(), metrics.save_state());
  EXPECT_EQ(again.find("many")->samples, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(std::bit_cast<std::uint64_t>(again.find("tiny")->sum), 1u);
}

TEST(Metrics, MergeOverRanks) {
  Metrics rank0, rank1;
  rank0.report("loss", 1.0, 10);
  rank1.report("loss", 4.0, 20);
  rank1.report("accuracy", 0.5, 20);
  Metrics all = rank0;
  all.merge(rank1);
  EXPECT_EQ(all.find("loss")->mean(), 3.0);
  EXPECT_EQ(all.find("loss")->min, 1.0);
  EXPECT_EQ(all.find("loss")->max, 4.0);
  EXPECT_EQ(all.find("loss")->reports, 2u);
  EXPECT_EQ(all.find("loss")->sum, 5.0);
  EXPECT_EQ(all.find("accuracy")->mean(), 0.5);
  EXPECT_EQ(rank0.find("loss")->reports, 1u);
  rank1.merge(rank0);  // the other way round
  EXPECT_EQ(rank1.find("loss")->min, 1.0);
  EXPECT_EQ(rank1.find("loss")->max, 4.0);
}

TEST(Metrics, RefuseNamesThatNoStateCouldKeep) {
  Metrics metrics;
  EXPECT_THROW(metrics.report("", 1), std::invalid_argument);
  EXPECT_THROW(metrics.report(std::string(256, 'x'), 1), std::invalid_argument);
  EXPECT_THROW(metrics.report("\xff", 1), std::invalid_argument);
  metrics.report(std::string(255, 'x'), 1);
  metrics.report("Verlust \xc3\xa4", 1);
  Metrics again;
  again.load_state(metrics.save_state());
  EXPECT_EQ(again.all().size(), 2u);
}

TEST(Metrics, NoDamageOfTheirStateLoadsAndOneFromBeforeItHadADigestDoes) {
  Metrics saved;
  saved.report("loss", 1.5, 3);
  saved.report("accuracy", 0.5, 3);
  test::expect_that_no_damage_loads(saved.save_state(),
                                    [](const std::string& damaged) { Metrics().load_state(damaged); });
  Metrics metrics;
  metrics.load_state(test::of_format_1(saved.save_state()));
  EXPECT_EQ(metrics.save_state(), saved.save_state());
}

TEST(Metrics, RefuseAnotherState) {
  Metrics metrics;
  metrics.report("loss", 1.0);
  const std::string before = metrics.save_state();
  std::string cut = before;
  for (std::size_t bytes = 0; bytes < before.size(); ++bytes)
    EXPECT_THROW(metrics.load_state(before.substr(0, bytes)), Failure) << bytes;
  cut = test::of_format_1(before);
  cut.replace(cut.find("\"format\":1"), 10, "\"format\":3");
  EXPECT_THROW(metrics.load_state(cut), Failure);
  cut = test::of_format_1(before);
  cut.replace(cut.find("3ff0"), 4, "3fg0");
  EXPECT_THROW(metrics.load_state(cut), Failure);
  for (const char* state : {"{}", "[]", R"({"format":1})", R"({"format":1,"metrics":[]})",
                            R"({"format":1,"metrics":{"loss":{"reports":1}}})"})
    EXPECT_THROW(metrics.load_state(state), Failure) << state;
  EXPECT_EQ(metrics.save_state(), before);
  try {
    metrics.load_state("{}");
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.exit_code, 82);
    EXPECT_THAT(failure.what(), testing::HasSubstr("not of metrics"));
  }
}

}  // namespace
}  // namespace ratoon::running_metrics_test
