// The quality of the shuffles. Seeds and thresholds are fixed: a chi-square may pass the 99.9 % quantile of
// its degrees of freedom, other measures 4 standard deviations. Each measure also detects a bad shuffle.
#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include <ratoon/permutation.h>
#include <ratoon/stream.h>

#include "tests/unit/agent/data/order/shuffle_measures.h"

namespace ratoon::shuffle_quality_test {
namespace {

using namespace test;  // NOLINT: the measures

void expect_bijection(std::uint64_t size, std::uint64_t key) {
  const Permutation order(size, key);
  Order values(size);
  order.fill(0, values);
  std::vector<bool> seen(size, false);
  for (std::uint64_t place = 0; place < size; ++place) {
    ASSERT_LT(values[place], size);
    ASSERT_FALSE(seen[values[place]]) << "size " << size << ", sample " << values[place];
    seen[values[place]] = true;
  }
  for (std::uint64_t place = 0; place < size; place += size / 64 + 1)
    ASSERT_EQ(order.inverse(values[place]), place) << "size " << size;
}

TEST(ShuffleQuality, EverySizeUpTo4096IsABijection) {
  for (std::uint64_t size = 1; size <= 4096; ++size)
    ASSERT_NO_FATAL_FAILURE(expect_bijection(size, size * 7));
}

// Grain's shuffle loses a sample at 65,537 and repeats another.
TEST(ShuffleQuality, SizesAroundPowersOfTwoAreBijections) {
  for (std::uint64_t bits = 1; bits <= 20; ++bits) {
    for (const std::uint64_t size : {(1ULL << bits) - 1, 1ULL << bits, (1ULL << bits) + 1})
      ASSERT_NO_FATAL_FAILURE(expect_bijection(size, bits));
  }
}

TEST(ShuffleQuality, EveryOrderOfAFewSamplesIsEquallyLikely) {
  EXPECT_LT(chi_square_of_orders(ours, 3, 60'000), 20.5);
  EXPECT_LT(chi_square_of_orders(ours, 4, 60'000), 49.7);
  EXPECT_LT(chi_square_of_orders(ours, 5, 60'000), 172.4);
  EXPECT_LT(chi_square_of_orders(ours, 6, 72'000), 841.9);
  EXPECT_GT(chi_square_of_orders(four_rounds, 5, 60'000), 1000);
  EXPECT_GT(chi_square_of_orders(rotation, 5, 60'000), 1000);
}

TEST(ShuffleQuality, EverySampleIsEquallyLikelyEverywhere) {
  EXPECT_LT(chi_square_of_places(ours, 16, 16, 20'000), 296.3);
  EXPECT_LT(chi_square_of_places(ours, 1024, 16, 400), 296.3);
  EXPECT_LT(chi_square_of_places(ours, 60'000, 16, 8), 296.3) << "24 rounds";
  EXPECT_LT(chi_square_of_places(ours, 70'000, 16, 8), 296.3) << "12 rounds";
  EXPECT_GT(chi_square_of_places(any_swaps, 16, 16, 20'000), 1000);
}

TEST(ShuffleQuality, SamplesStandAtTheirOwnPlaceAsOftenAsChanceHasIt) {
  const double bound = 4 / std::sqrt(2000.0);  // the variance of both is 1
  for (const std::uint64_t n : {64u, 1000u}) {
    EXPECT_NEAR(fixed_points(ours, n, 2000), 1, bound) << n;
    EXPECT_NEAR(successors(ours, n, 2000), 1, bound) << n;
  }
  EXPECT_NEAR(fixed_points(ours, 70'000, 20), 1, 4 / std::sqrt(20.0));
  EXPECT_GT(successors(rotation, 64, 2000), 10);
}

TEST(ShuffleQuality, NeighboursKnowNothingOfEachOther) {
  EXPECT_LT(worst_lag(ours, 1000, 60), 4);
  EXPECT_LT(worst_lag(ours, 70'000, 2), 4);
  EXPECT_GT(worst_lag(runs_of_16, 1600, 60), 20);
}

TEST(ShuffleQuality, HalfOfAllPairsAreOutOfOrder) {
  const Inversions ours_are = inversions(ours, 100, 1500);
  EXPECT_LT(ours_are.mean_off, 4);
  EXPECT_NEAR(ours_are.variance_ratio, 1, 4 * std::sqrt(2.0 / 1500));
  EXPECT_GT(inversions(rotation, 100, 1500).variance_ratio, 2);
}

TEST(ShuffleQuality, EpochsAndNeighbouringSeedsAreIndependent) {
  constexpr std::uint64_t kSamples = 20'000;
  const auto order = [](std::uint64_t seed, std::uint64_t epoch) {
    Order values(kSamples);
    Permutation(kSamples, permutation_key(seed, "independence", epoch)).fill(0, values);
    return values;
  };
  double worst = 0;
  for (std::uint64_t i = 0; i < 20; ++i) {
    worst = std::max(worst, std::abs(correlation(order(1, i), order(1, i + 1))));
    worst = std::max(worst, std::abs(correlation(order(i, 0), order(i + 1, 0))));
    worst = std::max(worst, std::abs(correlation(order(i, 1), order(i + 1, 0))));
  }
  EXPECT_LT(worst, 4) << "of 60";
  EXPECT_GT(std::abs(correlation(order(5, 0), order(5, 0))), 100);
}

// The worst of 300 ideal shuffles had 1.80 and 1.13.
TEST(ShuffleQuality, TheMallowsKernelSeesNoDifference) {
  EXPECT_LT(mallows_discrepancy(ours, 5, 20'000), 2.0);
  EXPECT_LT(mallows_discrepancy(ours, 16, 400), 1.25);
  EXPECT_LT(mallows_discrepancy(ideal, 5, 20'000), 2.0);
  EXPECT_LT(mallows_discrepancy(ideal, 16, 400), 1.25);
  EXPECT_GT(mallows_discrepancy(four_rounds, 5, 20'000), 2.0);
  EXPECT_GT(mallows_discrepancy(rotation, 16, 400), 1.25);
}

TEST(ShuffleQuality, DistancesOfNeighboursHaveTheEntropyOfAnIdealShuffle) {
  for (const std::uint64_t n : {4096u, 100'000u}) {
    EXPECT_NEAR(neighbour_entropy(ours(n, 1)), neighbour_entropy(ideal(n, 1)), 0.03) << n;
    EXPECT_LT(neighbour_entropy(runs_of_16(n, 1)), neighbour_entropy(ideal(n, 1)) - 3) << n;
  }
}

// Shards of 200 samples and windows of 32: a batch of 64 ids meets as many shards of its window as chance has
// it.
TEST(ShuffleQuality, ABatchOfBlocksMeetsManyShards) {
  const Stream stream({.global_batch = 64,
                       .seed = 3,
                       .order = SampleOrder::kBlocks,
                       .window_shards = 32,
                       .sources = {{.name = "s", .shards = std::vector<std::uint64_t>(320, 200)}}});
  std::vector<Slot> slots(64);
  double met = 0;
  for (std::uint64_t batch = 0; batch < 1000; ++batch) {
    stream.reader().fill(batch * 64, slots);
    std::set<std::uint64_t> shards;
    for (const Slot& slot : slots) shards.insert(slot.sample / 200);
    met += static_cast<double>(shards.size()) / 1000;
  }
  const double chance = 32 * (1 - std::pow(1 - 1.0 / 32, 64));  // 27.8
  EXPECT_NEAR(met, chance, 0.3);
}

// Of two sources with 3 to 1, each stretch of 1,024 draws has about 256 of the second one, and pairs of draws
// are as frequent as chance has them.
TEST(ShuffleQuality, AMixtureIsMixedEverywhere) {
  const Stream stream({.global_batch = 64,
                       .seed = 3,
                       .sources = {{.name = "a", .samples = 1000, .weight = 3},
                                   {.name = "b", .samples = 1000, .weight = 1}}});
  std::vector<Slot> slots(65536);
  stream.reader().fill(0, slots);
  double chi = 0;
  std::uint64_t pairs = 0;
  for (std::size_t start = 0; start < slots.size(); start += 1024) {
    double of_b = 0;
    for (std::size_t i = start; i < start + 1024; ++i) {
      of_b += slots[i].source;
      pairs += i > 0 && slots[i].source == 1 && slots[i - 1].source == 1 ? 1 : 0;
    }
    chi += (of_b - 256) * (of_b - 256) / 192;  // 1024 * 1/4 * 3/4
  }
  EXPECT_LT(chi, 103.4) << "63 degrees of freedom";
  EXPECT_NEAR(static_cast<double>(pairs), 4096, 4 * 64);
}

}  // namespace
}  // namespace ratoon::shuffle_quality_test
