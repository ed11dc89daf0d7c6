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
    EXPECT_THROW(watch.run_backward([&] { leaves[0].sum().backward(); }), Interrupted);
  }
  leaves[0].mutable_grad().reset();
  const GradientWatch watch(leaves, [](std::size_t) {});
  watch.run_backward([&] { leaves[0].sum().backward(); });
  EXPECT_TRUE(leaves[0].grad().defined());
}

TEST(BucketSchedule, FollowThePiecesWhateverComesFirst) {
  BucketSchedule turns({2, 1, 1, 0}, {0, 1, 2});
  EXPECT_FALSE(turns.is_next_piece_ready());
  EXPECT_TRUE(turns.mark_ready(1));
  EXPECT_TRUE(turns.mark_ready(2));
  EXPECT_FALSE(turns.is_next_piece_ready()) << "the first one is missing";
  EXPECT_TRUE(turns.mark_ready(3));
  EXPECT_TRUE(turns.is_next_piece_ready());
  EXPECT_EQ(turns.take_next_piece(), 0u);
  EXPECT_TRUE(turns.is_next_piece_ready());
  EXPECT_EQ(turns.take_next_piece(), 1u);
  EXPECT_TRUE(turns.mark_ready(0));
  EXPECT_FALSE(turns.is_next_piece_ready()) << "the last one waits for the end";
  EXPECT_TRUE(turns.has_pieces_left());
  EXPECT_EQ(turns.take_next_piece(), 2u);
  EXPECT_FALSE(turns.has_pieces_left());
}

TEST(BucketSchedule, AGradientMayChangeUntilItsPieceIsBegun) {
  BucketSchedule turns({1, 0, 0}, {0, 1});
  EXPECT_TRUE(turns.mark_ready(1));
  EXPECT_TRUE(turns.mark_ready(1));
  EXPECT_FALSE(turns.is_next_piece_ready()) << "twice the same is not two";
  EXPECT_TRUE(turns.mark_ready(2));
  EXPECT_EQ(turns.take_next_piece(), 0u);
  EXPECT_FALSE(turns.mark_ready(1));
}

TEST(BucketSchedule, BeginsPiecesInTheGivenOrder) {
  BucketSchedule turns({0, 1, 2, 3}, {2, 0, 1, 3});
  EXPECT_TRUE(turns.mark_ready(0));
  EXPECT_FALSE(turns.is_next_piece_ready());
  EXPECT_TRUE(turns.mark_ready(2));
  EXPECT_EQ(turns.take_next_piece(), 2u);
  EXPECT_FALSE(turns.mark_ready(2)) << "it was begun";
  EXPECT_TRUE(turns.is_next_piece_ready());
  EXPECT_EQ(turns.take_next_piece(), 0u);
  EXPECT_FALSE(turns.is_next_piece_ready());
  EXPECT_EQ(turns.take_next_piece(), 1u);
  EXPECT_EQ(turns.take_next_piece(), 3u);
}

std::vector<std::size_t> order_after(const std::vector<std::size_t>& parameters,
                                     const std::vector<std::size_t>& order) {
  BucketSchedule turns({0, 1, 2, 3}, order);
  for (const std::size_t parameter : parameters) static_cast<void>(turns.mark_ready(parameter));
  std::vector<float> completed(4, 7.0F);
  turns.write_completion_order(completed);
  return BucketSchedule::next_order(order, completed);
}

TEST(BucketSchedule, TheNextStepHasTheOrderOfThisStep) {
  EXPECT_THAT(order_after({2, 1, 0, 3}, {0, 1, 2, 3}), ElementsAre(2, 1, 0, 3));
  EXPECT_THAT(order_after({3, 1, 2}, {2, 1, 0, 3}), ElementsAre(1, 2, 0, 3))
      << "the last piece has the control word, and an unused one comes after the others";
  EXPECT_THAT(order_after({2}, {1, 2, 0, 3}), ElementsAre(2, 0, 1, 3));
  EXPECT_THAT(order_after({}, {1, 2, 0, 3}), ElementsAre(1, 2, 0, 3)) << "rank 0 has no sample";
}

}  // namespace
}  // namespace ratoon::gradient_watch_test
