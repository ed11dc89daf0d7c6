#include "agent/src/torch/gradient_buckets.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/failure.h>

namespace ratoon {
namespace {

using at::Tensor;

Tensor parameter(at::IntArrayRef shape, at::ScalarType type = at::kFloat) {
  return at::zeros(shape, at::TensorOptions(type)).set_requires_grad(true);
}

void fill(GradientBuckets& buckets, std::uint32_t wishes) {
  buckets.begin(wishes);
  for (std::size_t piece = 0; piece < buckets.pieces().size(); ++piece) buckets.fill(piece);
}

std::uint32_t spread(GradientBuckets& buckets, std::uint32_t world_size) {
  for (std::size_t piece = 0; piece < buckets.pieces().size(); ++piece) buckets.spread(piece, world_size);
  return buckets.finish(world_size);
}

// What Gloo would do: all ranks' pieces become their sum.
void add_up(std::vector<GradientBuckets*> ranks) {
  for (std::size_t piece = 0; piece < ranks[0]->pieces().size(); ++piece) {
    Tensor sum = ranks[0]->pieces()[piece].clone();
    for (std::size_t rank = 1; rank < ranks.size(); ++rank) sum.add_(ranks[rank]->pieces()[piece]);
    for (GradientBuckets* rank : ranks) rank->pieces()[piece].copy_(sum);
  }
}

TEST(GradientBuckets, SpreadTheMeanAndTheWishesOfAll) {
  const std::vector<Tensor> first = {parameter({2, 3}), parameter({4})};
  const std::vector<Tensor> second = {parameter({2, 3}), parameter({4})};
  first[0].mutable_grad() = at::arange(6.0).to(at::kFloat).view({2, 3});
  first[1].mutable_grad() = at::full({4}, 3.0F);
  second[0].mutable_grad() = at::full({3, 2}, 4.0F).t();  // not contiguous
  GradientBuckets one(first), two(second);
  fill(one, 0b01);
  fill(two, 0b10000000000000000000000000000000);
  add_up({&one, &two});
  EXPECT_EQ(spread(one, 2), 0b10000000000000000000000000000001u);
  EXPECT_EQ(spread(two, 2), 0b10000000000000000000000000000001u);
  const Tensor mean = at::arange(6.0).to(at::kFloat).view({2, 3}).add(4).div(2);
  EXPECT_TRUE(first[0].grad().equal(mean));
  EXPECT_TRUE(second[0].grad().equal(mean));
  EXPECT_TRUE(first[1].grad().equal(at::full({4}, 1.5F))) << "the other rank's counts as zero";
  EXPECT_TRUE(second[1].grad().equal(at::full({4}, 1.5F)));
}

TEST(GradientBuckets, WhatNoRankHasStaysUndefined) {
  const std::vector<Tensor> parameters = {parameter({2}), parameter({3})};
  parameters[0].mutable_grad() = at::full({2}, 1.0F);
  GradientBuckets buckets(parameters);
  for (int step = 0; step < 2; ++step) {
    fill(buckets, 0);
    EXPECT_EQ(spread(buckets, 1), 0u);
    EXPECT_FALSE(parameters[1].grad().defined());
  }
}

TEST(GradientBuckets, KeepTypesApartAndPiecesSmall) {
  const std::vector<Tensor> parameters = {parameter({1 << 20}), parameter({1 << 20}), parameter({1 << 20}),
                                          parameter({10}, at::kDouble), parameter({5 << 20})};
  GradientBuckets buckets(parameters);
  std::vector<std::int64_t> sizes;
  for (const Tensor& piece : buckets.pieces()) sizes.push_back(piece.numel());
  EXPECT_THAT(sizes, testing::ElementsAre(2 << 20, 1 << 20, 10, (5 << 20) + 32 + 5))
      << "8 MiB, the rest, the other type, one that is larger than a piece with the control word behind it";
  EXPECT_TRUE(buckets.is_for(parameters));
  EXPECT_FALSE(buckets.is_for({parameters[0]}));
}

TEST(GradientBuckets, APieceIsFilledAndSpreadAlone) {
  const std::vector<Tensor> parameters = {parameter({2}, at::kDouble), parameter({3})};
  for (const Tensor& parameter : parameters) parameter.mutable_grad() = at::full_like(parameter, 6);
  GradientBuckets buckets(parameters);
  buckets.begin(0);
  buckets.fill(0);
  EXPECT_TRUE(buckets.pieces()[0].equal(at::full({2}, 6.0, at::kDouble)));
  EXPECT_EQ(buckets.pieces()[1].narrow(0, 0, 3).abs().max().item<float>(), 0.0F) << "not its turn";
  buckets.fill(1);
  buckets.spread(0, 3);
  EXPECT_TRUE(parameters[0].grad().equal(at::full({2}, 2.0, at::kDouble)));
  EXPECT_TRUE(parameters[1].grad().equal(at::full({3}, 6.0F))) << "its sum may not be there yet";
}

TEST(GradientBuckets, AModelWithoutParametersStillCarriesWishes) {
  GradientBuckets buckets({});
  fill(buckets, 5);
  EXPECT_EQ(spread(buckets, 1), 5u);
}

TEST(GradientBuckets, SparseGradientsAreRefused) {
  const std::vector<Tensor> parameters = {parameter({4})};
  parameters[0].mutable_grad() = at::full({4}, 1.0F).to_sparse();
  GradientBuckets buckets(parameters);
  EXPECT_THROW(fill(buckets, 0), Failure);
}

}  // namespace
}  // namespace ratoon
