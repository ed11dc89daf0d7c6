#include "agent/src/session/telemetry/rank_means.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include <ratoon/session.h>

namespace ratoon::session::rank_means_test {
namespace {

static_assert(RankMeans::kNumbers == Session::kNumbers);

// The effect of a collective.
std::vector<std::vector<RankMeans::Mean>> add_up(std::vector<RankMeans*> ranks) {
  RankMeans::Numbers sums{};
  for (const RankMeans* rank : ranks) {
    const auto numbers = rank->numbers();
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += numbers[i];
  }
  std::vector<std::vector<RankMeans::Mean>> of_each;
  for (RankMeans* rank : ranks) of_each.push_back(rank->take(sums, static_cast<std::uint32_t>(ranks.size())));
  return of_each;
}

TEST(RankMeans, AreWeightedBySamplesAndTheSameOnAllRanks) {
  RankMeans first, second, third;
  first.report("loss", 1, 10);
  first.report("loss", 3, 10);  // accumulation
  second.report("loss", 4, 60);
  third.report("loss", 0, 20);
  for (RankMeans* rank : {&first, &second, &third}) rank->report("accuracy", 0.5, 1);
  for (const auto& means : add_up({&first, &second, &third})) {
    ASSERT_EQ(means.size(), 2u);
    EXPECT_EQ(means[0].name, "accuracy");
    EXPECT_EQ(means[0].value(), 0.5);
    EXPECT_EQ(means[1].name, "loss");
    EXPECT_EQ(means[1].value(), 2.8);
    EXPECT_EQ(means[1].samples, 100);
    EXPECT_TRUE(means[1].is_of_all_ranks);
  }
  EXPECT_TRUE(first.take_own_means().empty()) << "they count once";
}

TEST(RankMeans, RanksThatMeanOtherNamesKeepTheirOwn) {
  for (const std::string_view other : {"accuracy", "los", "loss2"}) {
    RankMeans first, second, third;
    first.report("loss", 1, 10);
    second.report(other, 9, 10);
    third.report("loss", 1, 10);
    const auto means = add_up({&first, &second, &third});
    ASSERT_EQ(means[0].size(), 1u);
    EXPECT_EQ(means[0][0].value(), 1);
    EXPECT_FALSE(means[0][0].is_of_all_ranks);
    EXPECT_EQ(means[1][0].value(), 9);
  }
  RankMeans first, second;
  first.report("loss", 1, 10);
  EXPECT_EQ(add_up({&first, &second})[0][0].value(), 1) << "the other reported nothing";
}

TEST(RankMeans, OneThatIsNoNumberSpoilsItsOwnNameAlone) {
  RankMeans first, second;
  first.report("a", std::numeric_limits<double>::quiet_NaN(), 1);
  second.report("a", 1, 1);
  for (RankMeans* rank : {&first, &second}) rank->report("b", 7, 1);
  const auto means = add_up({&first, &second});
  EXPECT_TRUE(std::isnan(means[1][0].value()));
  EXPECT_EQ(means[1][1].value(), 7);
}

// The mean loss of an empty share of the last batch.
TEST(RankMeans, WhatIsNoNumberOfNoSamplesSpoilsNoMean) {
  for (const double value :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    RankMeans first, second;
    first.report("loss", 3, 10);
    second.report("loss", value, 0);
    for (const auto& means : add_up({&first, &second})) {
      ASSERT_EQ(means.size(), 1u);
      EXPECT_TRUE(means[0].is_of_all_ranks) << "all mean the same name";
      EXPECT_EQ(means[0].value(), 3);
    }
  }
}

TEST(RankMeans, MoreNamesThanTravelStayTheRanksOwn) {
  RankMeans first, second;
  for (int i = 0; i < 20; ++i) {
    first.report("name" + std::to_string(100 + i), 1, 1);
    second.report("name" + std::to_string(100 + i), 3, 1);
  }
  const auto means = add_up({&first, &second})[1];
  ASSERT_EQ(means.size(), 20u);
  for (std::size_t i = 0; i < means.size(); ++i)
    EXPECT_EQ(means[i].value(), i < RankMeans::kNames ? 2 : 3) << i;
}

// In the largest world, for names whose marks are drawn from all possible marks.
TEST(RankMeans, OfManyRanksAreKnownToBeOfTheSameNames) {
  constexpr std::uint32_t kRanksMax = 65536;
  for (int i = 0; i < 40; ++i) {
    RankMeans rank;
    rank.report("loss" + std::to_string(i), 1, 1);
    const auto own = rank.numbers();
    RankMeans::Numbers sums{};
    for (std::uint32_t ranks = 1; ranks <= kRanksMax; ++ranks) {
      for (std::size_t at = 0; at < sums.size(); ++at) sums[at] += own[at];
      if (ranks % 8192 != 0) continue;
      RankMeans one = rank;
      ASSERT_TRUE(one.take(sums, ranks)[0].is_of_all_ranks) << ranks << " ranks";
      RankMeans other;
      other.report("accuracy" + std::to_string(i), 1, 1);
      auto with_another = sums;
      for (std::size_t at = 0; at < sums.size(); ++at) with_another[at] += other.numbers()[at] - own[at];
      one = rank;
      ASSERT_FALSE(one.take(with_another, ranks)[0].is_of_all_ranks) << "one of " << ranks;
    }
  }
}

}  // namespace
}  // namespace ratoon::session::rank_means_test
