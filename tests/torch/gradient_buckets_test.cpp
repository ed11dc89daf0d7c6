#include "agent/src/torch/collectives/gradients/gradient_buckets.h"

#include <cmath>
#include <deque>
#include <optional>

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/optim/sgd.h>

#include <ratoon/failure.h>

namespace ratoon::gradient_buckets_test {
namespace {

namespace optim = torch::optim;
using at::Tensor;

Tensor parameter(at::IntArrayRef shape, at::ScalarType type = at::kFloat) {
  return at::zeros(shape, at::TensorOptions(type)).set_requires_grad(true);
}

void fill(GradientBuckets& buckets, std::uint32_t requests, std::uint32_t world_size,
          std::optional<std::uint64_t> samples = std::nullopt) {
  buckets.begin(world_size, samples);
  for (std::size_t piece = 0; piece < buckets.pieces().size(); ++piece) buckets.fill(piece);
  buckets.write_control_word(requests);
}

// The effect of Gloo: all ranks' pieces become their sum.
void add_up(std::vector<GradientBuckets*> ranks) {
  for (std::size_t piece = 0; piece < ranks[0]->pieces().size(); ++piece) {
    Tensor sum = ranks[0]->pieces()[piece].clone();
    for (std::size_t rank = 1; rank < ranks.size(); ++rank) sum.add_(ranks[rank]->pieces()[piece]);
    for (GradientBuckets* rank : ranks) rank->pieces()[piece].copy_(sum);
  }
}

TEST(GradientBuckets, HaveTheMeanAndTheWishesOfAll) {
  const std::vector<Tensor> first = {parameter({2, 3}), parameter({4})};
  const std::vector<Tensor> second = {parameter({2, 3}), parameter({4})};
  first[0].mutable_grad() = at::arange(6.0).to(at::kFloat).view({2, 3});
  first[1].mutable_grad() = at::full({4}, 3.0F);
  second[0].mutable_grad() = at::full({3, 2}, 4.0F).t();  // not contiguous
  GradientBuckets one(first), two(second);
  fill(one, 0b01, 2);
  fill(two, 0b10000000000000000000000000000000, 2);
  add_up({&one, &two});
  EXPECT_EQ(one.finish(), 0b10000000000000000000000000000001u);
  EXPECT_EQ(two.finish(), 0b10000000000000000000000000000001u);
  const Tensor mean = at::arange(6.0).to(at::kFloat).view({2, 3}).add(4).div(2);
  EXPECT_TRUE(first[0].grad().equal(mean));
  EXPECT_TRUE(second[0].grad().equal(mean));
  EXPECT_TRUE(first[1].grad().equal(at::full({4}, 1.5F))) << "the other rank's counts as zero";
  EXPECT_TRUE(second[1].grad().equal(at::full({4}, 1.5F)));
}

void expect_a_mean_by_samples(std::uint64_t unit, at::ScalarType type = at::kFloat) {
  const std::vector<Tensor> first = {parameter({2}, type)}, second = {parameter({2}, type)},
                            third = {parameter({2}, type)};
  first[0].mutable_grad() = at::full({2}, 100, type);
  second[0].mutable_grad() = at::full({2}, 500, type);
  third[0].mutable_grad() = at::full({2}, NAN, type);  // the mean loss of no samples
  GradientBuckets one(first), two(second), three(third);
  fill(one, 0, 3, 5 * unit);
  fill(two, 0, 3, 3 * unit);
  fill(three, 0, 3, 0);
  add_up({&one, &two, &three});
  for (GradientBuckets* rank : {&one, &two, &three}) static_cast<void>(rank->finish());
  for (const auto* rank : {&first, &second, &third})
    EXPECT_TRUE((*rank)[0].grad().equal(at::full({2}, 250, type))) << (*rank)[0].grad();
}

TEST(GradientBuckets, EachRankCountsByItsSamples) {
  expect_a_mean_by_samples(1);
  expect_a_mean_by_samples(1ULL << 35);  // more than an int counts
}

// The product of gradient and samples is not finite in half precision.
TEST(GradientBuckets, EachRankCountsByItsSamplesInHalfPrecision) {
  for (const at::ScalarType type : {at::kHalf, at::kBFloat16}) {
    expect_a_mean_by_samples(1000, type);
    expect_a_mean_by_samples(1ULL << 35, type);
  }
}

// Half of the distance between neighbours in half precision, and a little for sums in single precision.
double half_a_step(double value, at::ScalarType type) {
  const bool is_half = type == at::kHalf;
  const int exponent = value == 0 ? -1000 : std::ilogb(value);
  return std::ldexp(0.501, std::max(exponent - (is_half ? 10 : 7), is_half ? -24 : -133));
}

// All ranks' gradients are drawn; the mean is that of their exact values, rounded once.
void expect_one_rounding(at::ScalarType type, bool has_samples) {
  constexpr std::size_t kRanks = 5;
  constexpr std::int64_t kNumbers = 1000;
  std::vector<std::vector<Tensor>> ranks;
  std::deque<GradientBuckets> buckets;
  std::vector<GradientBuckets*> all;
  Tensor sum = at::zeros({kNumbers}, at::kDouble);
  Tensor sizes = at::zeros({kNumbers}, at::kDouble);  // of the numbers that are summed
  double weights = 0;
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    ranks.push_back({parameter({kNumbers}, type)});
    const Tensor gradient = at::randn({kNumbers}).mul(100).to(type);
    ranks.back()[0].mutable_grad() = gradient.clone();
    const std::uint64_t samples = 1 + 37 * rank;
    const double weight = has_samples ? static_cast<double>(samples) : 1;
    sum.add_(gradient.to(at::kDouble).mul(weight));
    sizes.add_(gradient.to(at::kDouble).abs().mul(weight));
    weights += weight;
    all.push_back(&buckets.emplace_back(ranks.back()));
    fill(*all.back(), 0, kRanks, has_samples ? std::optional(samples) : std::nullopt);
  }
  add_up(all);
  static_cast<void>(all[0]->finish());
  const Tensor exact = sum.div(weights);
  const Tensor found = ranks[0][0].grad().to(at::kDouble);
  EXPECT_EQ(ranks[0][0].grad().scalar_type(), type);
  for (std::int64_t i = 0; i < kNumbers; ++i) {
    const auto value = exact[i].item<double>();
    // Numbers of both signs may cancel: single precision keeps 24 bits of each.
    const double of_sum = std::ldexp((sizes[i] / weights).item<double>(), -21);
    ASSERT_NEAR(found[i].item<double>(), value, half_a_step(value, type) + of_sum) << at::toString(type);
  }
}

TEST(GradientBuckets, MeansInHalfPrecisionAreRoundedOnce) {
  for (const at::ScalarType type : {at::kHalf, at::kBFloat16}) {
    expect_one_rounding(type, true);
    expect_one_rounding(type, false);
  }
}

// Each of 65,536 ranks, the most of a world, gives a number with the largest possible digits.
TEST(GradientBuckets, SamplesAddUpExactlyInTheLargestWorld) {
  constexpr std::uint32_t kRanksMax = 65536;
  constexpr std::uint64_t kSamples = (1ULL << 24) - 1;
  const std::vector<Tensor> parameters = {parameter({1})};
  parameters[0].mutable_grad() = at::full({1}, 1.0F);
  GradientBuckets buckets(parameters);
  fill(buckets, 0, kRanksMax, kSamples);
  const Tensor own = buckets.pieces()[0].clone();
  Tensor sum = at::zeros_like(own);
  for (std::uint32_t rank = 0; rank < kRanksMax; ++rank) sum.add_(own);
  buckets.pieces()[0].copy_(sum);
  buckets.pieces()[0][0] = static_cast<double>(kSamples) * kRanksMax;  // the gradient's sum, were it exact
  static_cast<void>(buckets.finish());
  EXPECT_EQ(parameters[0].grad().item<float>(), 1.0F);
}

TEST(GradientBuckets, WhereNoRankHasSamplesTheMeanIsZero) {
  const std::vector<Tensor> parameters = {parameter({2})};
  parameters[0].mutable_grad() = at::full({2}, NAN);
  GradientBuckets buckets(parameters);
  fill(buckets, 0, 1, 0);
  static_cast<void>(buckets.finish());
  EXPECT_TRUE(parameters[0].grad().equal(at::zeros({2})));
}

TEST(GradientBuckets, SamplesOfSomeRanksAloneAreRefused) {
  const std::vector<Tensor> parameters = {parameter({2})};
  GradientBuckets one(parameters), two(parameters);
  fill(one, 0, 2, 7);
  fill(two, 0, 2);
  add_up({&one, &two});
  for (GradientBuckets* rank : {&one, &two}) {
    try {
      static_cast<void>(rank->finish());
      ADD_FAILURE() << "taken";
    } catch (const Failure& failure) {
      EXPECT_THAT(failure.what(), testing::HasSubstr("1 of 2 ranks gave average_gradients() the number"));
    }
  }
}

TEST(GradientBuckets, WhatNoRankHasStaysUndefined) {
  const std::vector<Tensor> parameters = {parameter({2}), parameter({3})};
  parameters[0].mutable_grad() = at::full({2}, 1.0F);
  GradientBuckets buckets(parameters);
  for (int step = 0; step < 2; ++step) {
    fill(buckets, 0, 1);
    EXPECT_EQ(buckets.finish(), 0u);
    EXPECT_FALSE(parameters[1].grad().defined());
  }
}

TEST(GradientBuckets, KeepTypesApartAndPiecesSmall) {
  const std::vector<Tensor> parameters = {parameter({5 << 20}), parameter({10}, at::kDouble),
                                          parameter({1 << 20}), parameter({1 << 20}), parameter({1 << 20})};
  GradientBuckets buckets(parameters);
  std::vector<std::int64_t> sizes;
  for (const Tensor& piece : buckets.pieces()) sizes.push_back(piece.numel());
  EXPECT_THAT(sizes, testing::ElementsAre(2 << 20, 1 << 20, 10, testing::Gt((5 << 20) + 32 + 5)))
      << "8 MiB, the rest, the other type, one that is larger than a piece with the control word behind it";
  EXPECT_THAT(buckets.pieces_of_parameters(), testing::ElementsAre(3, 2, 1, 0, 0))
      << "backward() comes to the last one first";
  EXPECT_TRUE(buckets.fits(parameters));
  EXPECT_FALSE(buckets.fits({parameters[0]}));
}

TEST(GradientBuckets, APieceHasGradientsOfOneModule) {
  const std::vector<Tensor> parameters = {parameter({3}), parameter({4}), parameter({5}), parameter({6})};
  const GradientBuckets::Layout layout{.module_sizes = {1, 0, 2, 1}};
  GradientBuckets buckets(parameters, 2, layout);
  EXPECT_THAT(buckets.pieces_of_parameters(), testing::ElementsAre(2, 1, 1, 0));
  ASSERT_EQ(buckets.pieces().size(), 3u);
  EXPECT_EQ(buckets.pieces()[0].numel(), 6);
  EXPECT_EQ(buckets.pieces()[1].numel(), 9);
  EXPECT_EQ(buckets.values_per_piece().size(), 3u);
  EXPECT_EQ(buckets.values_per_piece().data() + 3, buckets.extra_numbers().data());
  EXPECT_EQ(buckets.extra_numbers().size(), 2u);
  EXPECT_TRUE(buckets.fits(parameters, layout));
  EXPECT_FALSE(buckets.fits(parameters)) << "one module";
}

// set_data() and Module::to() change a parameter in place.
TEST(GradientBuckets, AParameterThatChangedInPlaceIsAnotherOne) {
  for (const Tensor& other : {at::zeros({6}), at::zeros({4}, at::kDouble), at::zeros({2, 2})}) {
    const std::vector<Tensor> parameters = {parameter({4})};
    const GradientBuckets buckets(parameters);
    EXPECT_TRUE(buckets.fits(parameters));
    parameters[0].set_data(other);
    EXPECT_FALSE(buckets.fits(parameters)) << other;
  }
}

TEST(GradientBuckets, APieceIsFilledAlone) {
  const std::vector<Tensor> parameters = {parameter({3}), parameter({2}, at::kDouble)};
  for (const Tensor& parameter : parameters) parameter.mutable_grad() = at::full_like(parameter, 6);
  GradientBuckets buckets(parameters);
  buckets.begin(2);
  buckets.fill(0);
  EXPECT_TRUE(buckets.pieces()[0].equal(at::full({2}, 3.0, at::kDouble)));
  EXPECT_EQ(buckets.pieces()[1].abs().max().item<float>(), 0.0F) << "not its turn";
}

// Values that were copied back before are in the gradients; no gradient may refer to the pieces when they are
// given up.
TEST(GradientBuckets, GradientsLieInThePiecesUntilTheyAreLetGo) {
  const std::vector<Tensor> parameters = {parameter({2}), parameter({3})};
  for (const Tensor& parameter : parameters) parameter.mutable_grad() = at::full_like(parameter, 6);
  GradientBuckets buckets(parameters);
  fill(buckets, 0, 1);
  static_cast<void>(buckets.finish());
  for (const Tensor& parameter : parameters) EXPECT_TRUE(parameter.grad().is_alias_of(buckets.pieces()[0]));
  optim::SGD(parameters, optim::SGDOptions(1.0))
      .zero_grad(false);  // as zero_grad() does before it forgets them
  for (const Tensor& parameter : parameters) parameter.mutable_grad().fill_(6);
  fill(buckets, 0, 2);  // from there to there
  static_cast<void>(buckets.finish());
  EXPECT_TRUE(parameters[1].grad().equal(at::full({3}, 3.0F)));

  parameters[0].mutable_grad() = at::full({2}, 7.0F);  // of a backward() since
  buckets.release_gradients();
  EXPECT_TRUE(parameters[0].grad().equal(at::full({2}, 7.0F)));
  EXPECT_FALSE(parameters[1].grad().defined());
}

TEST(GradientBuckets, AModelWithoutParametersStillCarriesWishes) {
  GradientBuckets buckets({});
  fill(buckets, 5, 1);
  EXPECT_EQ(buckets.finish(), 5u);
}

TEST(GradientBuckets, SparseGradientsAreRefused) {
  const std::vector<Tensor> parameters = {parameter({4})};
  parameters[0].mutable_grad() = at::full({4}, 1.0F).to_sparse();
  GradientBuckets buckets(parameters);
  EXPECT_THROW(fill(buckets, 0, 1), Failure);
}

}  // namespace
}  // namespace ratoon::gradient_buckets_test
