#include "agent/src/torch/collectives/weights_mark.h"

#include <gtest/gtest.h>
#include <torch/nn/modules/linear.h>
#include <torch/utils.h>

#include <ratoon/failure.h>

namespace ratoon::weights_mark_test {
namespace {

namespace nn = ::torch::nn;

struct Model : nn::Module {
  explicit Model(const std::string& second = "second") {
    ::torch::manual_seed(1);
    register_module("first", nn::Linear(3, 4));
    register_module(second, nn::Linear(4, 2));
  }
  at::Tensor& parameter(const std::string& name) { return named_parameters()[name]; }
};

TEST(WeightsMark, IsTheSameForEqualWeights) {
  const auto one = mark_weights(Model());
  const auto other = mark_weights(Model());
  EXPECT_EQ(one.whole, other.whole);
  EXPECT_EQ(one.sums, other.sums);
  EXPECT_EQ(one.names.size(), 4u);
}

TEST(WeightsMark, ChangesWithOneNumberOfOneParameter) {
  const auto before = mark_weights(Model());
  Model model;
  const ::torch::NoGradGuard no_gradients;
  model.parameter("second.weight").view({-1})[5].add_(1e-3);
  const auto after = mark_weights(model);
  EXPECT_NE(after.whole, before.whole);
  for (std::size_t i = 0; i < before.sums.size(); ++i)
    EXPECT_EQ(after.sums[i] != before.sums[i], before.names[i] == "second.weight") << before.names[i];
}

TEST(WeightsMark, ChangesWithNamesTypesAndShapes) {
  const auto before = mark_weights(Model());
  EXPECT_NE(mark_weights(Model("third")).whole, before.whole);
  Model doubles;
  doubles.to(at::kDouble);
  EXPECT_NE(mark_weights(doubles).whole, before.whole);
  Model turned;
  auto& weight = turned.parameter("first.weight");
  const ::torch::NoGradGuard no_gradients;
  weight.set_data(weight.reshape({3, 4}).clone());
  EXPECT_NE(mark_weights(turned).whole, before.whole);
  EXPECT_EQ(mark_weights(turned).whole.size(), before.whole.size());
}

}  // namespace
}  // namespace ratoon::weights_mark_test
