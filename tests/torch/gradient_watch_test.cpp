// The moment at which a gradient exists, and the order in which pieces of gradients are begun.
#include "agent/src/torch/collectives/gradients/gradient_watch.h"

#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <ratoon/failure.h>

#include "agent/src/torch/collectives/gradients/bucket_schedule.h"

namespace ratoon::gradient_watch_test {
namespace {

using at::Tensor;
using testing::ElementsAre;

Tensor leaf() {
  return torch::ones({2}, torch::requires_grad());
}

TEST(GradientWatch, SaysOfEachGradientThatAllOfItIsThere) {
  const std::vector<Tensor> leaves = {leaf(), leaf(), leaf()};
  (leaves[1] * 2).sum().backward();  // before it was watched
  std::vector<std::pair<std::size_t, float>> seen;
  {
    const GradientWatch watch(
        leaves, [&](std::size_t i) { seen.emplace_back(i, leaves[i].grad()[0].item<float>()); });
    (leaves[1] * leaves[2] * leaves[1]).sum().backward();
  }
  std::ranges::sort(seen);
  EXPECT_THAT(seen, ElementsAre(std::pair(1, 4.0F), std::pair(2, 1.0F))) << "what was there is in it";
  leaves[0].sum().backward();
  EXPECT_EQ(seen.size(), 2u) << "it has ended";
}

TEST(GradientWatch, SeesGraphsThatWereMadeBeforeIt) {
  const std::vector<Tensor> leaves = {leaf()};
  const Tensor loss = leaves[0].sum();
  int seen = 0;
  const GradientWatch watch(leaves, [&](std::size_t) { ++seen; });
  loss.backward();
  EXPECT_EQ(seen, 1);
}

// The exception is no std::exception, and LibTorch's threads know no others.
TEST(GradientWatch, WhatItThrowsComesOutAsItIsAndLeavesBackwardUsable) {
  const std::vector<Tensor> leaves = {leaf()};
  {
    const GradientWatch watch(leaves, [](std::size_t) { throw Interrupted("the world changed"); });
    EXPECT_THROW(watch.during([&] { leaves[0].sum().backward(); }), Interrupted);
  }
  leaves[0].mutable_grad().reset();
  const GradientWatch watch(leaves, [](std::size_t) {});
  watch.during([&] { leaves[0].sum().backward(); });
  EXPECT_TRUE(leaves[0].grad().defined());
}

TEST(BucketSchedule, FollowThePiecesWhateverComesFirst) {
  BucketSchedule turns({2, 1, 1, 0}, 3);
  EXPECT_FALSE(turns.has_full());
  EXPECT_TRUE(turns.note(1));
  EXPECT_TRUE(turns.note(2));
  EXPECT_FALSE(turns.has_full()) << "the first one is missing";
  EXPECT_TRUE(turns.note(3));
  EXPECT_TRUE(turns.has_full());
  EXPECT_EQ(turns.take(), 0u);
  EXPECT_TRUE(turns.has_full());
  EXPECT_EQ(turns.take(), 1u);
  EXPECT_TRUE(turns.note(0));
  EXPECT_FALSE(turns.has_full()) << "the last one waits for the end";
  EXPECT_TRUE(turns.has_any());
  EXPECT_EQ(turns.take(), 2u);
  EXPECT_FALSE(turns.has_any());
}

TEST(BucketSchedule, AGradientMayChangeUntilItsPieceIsBegun) {
  BucketSchedule turns({1, 0, 0}, 2);
  EXPECT_TRUE(turns.note(1));
  EXPECT_TRUE(turns.note(1));
  EXPECT_FALSE(turns.has_full()) << "twice the same is not two";
  EXPECT_TRUE(turns.note(2));
  EXPECT_EQ(turns.take(), 0u);
  EXPECT_FALSE(turns.note(1));
}

}  // namespace
}  // namespace ratoon::gradient_watch_test
