#include "agent/src/torch/collectives/gradients/weights_fingerprint.h"

#include <vector>

#include <ATen/ops/equal.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/linear.h>
#include <torch/utils.h>

#include <ratoon/failure.h>

namespace ratoon::weights_fingerprint_test {
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

WeightsFingerprint mark_of(const Model& model) {
  return fingerprint_weights(trained_weights(model));
}

TEST(WeightsFingerprint, IsTheSameForEqualWeights) {
  const auto one = mark_of(Model());
  const auto other = mark_of(Model());
  EXPECT_EQ(one.whole, other.whole);
  EXPECT_EQ(one.sums, other.sums);
  EXPECT_EQ(one.names.size(), 4u);
}

TEST(TrainedWeights, NameTheModuleOrTheTensorAndListASharedParameterOnce) {
  Model one;
  Model other;
  other.register_module("shared", one.named_children()["first"]);
  const at::Tensor own = at::zeros({2}).requires_grad_(), frozen = at::zeros({2});
  std::vector<std::vector<std::string>> names;
  for (const NamedWeights& weights :
       trained_weights(std::vector<std::reference_wrapper<nn::Module>>{one, other},
                       {frozen, own, own, other.parameter("second.bias")})) {
    names.emplace_back();
    for (const auto& [name, tensor] : weights) names.back().push_back(name);
  }
  EXPECT_EQ(names, (std::vector<std::vector<std::string>>{
                       {"0.first.weight", "0.first.bias", "0.second.weight", "0.second.bias"},
                       {"1.first.weight", "1.first.bias", "1.second.weight", "1.second.bias"},
                       {"tensor 1"}}));
}

TEST(TrainedWeights, RefuseATensorThatNoOptimizerCanTrain) {
  const at::Tensor leaf = at::zeros({2}).requires_grad_();
  for (const auto& [tensor, why] :
       {std::pair(leaf + 1, "tensor 1 of the list that average_gradients() was given is the result"),
        std::pair(at::Tensor(), "tensor 1 of the list that average_gradients() was given is undefined")}) {
    try {
      static_cast<void>(trained_weights({}, {leaf, tensor}));
      ADD_FAILURE() << "taken";
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.exit_code, 82);
      EXPECT_THAT(failure.what(), testing::HasSubstr(why));
    }
  }
}

TEST(WeightsFingerprint, ChangesWithOneNumberOfOneParameter) {
  const auto before = mark_of(Model());
  Model model;
  const ::torch::NoGradGuard no_gradients;
  model.parameter("second.weight").view({-1})[5].add_(1e-3);
  const auto after = mark_of(model);
  EXPECT_NE(after.whole, before.whole);
  for (std::size_t i = 0; i < before.sums.size(); ++i)
    EXPECT_EQ(after.sums[i] != before.sums[i], before.names[i] == "second.weight") << before.names[i];
}

TEST(WeightsFingerprint, ChangesWithNamesTypesAndShapes) {
  const auto before = mark_of(Model());
  EXPECT_NE(mark_of(Model("third")).whole, before.whole);
  Model doubles;
  doubles.to(at::kDouble);
  EXPECT_NE(mark_of(doubles).whole, before.whole);
  Model turned;
  auto& weight = turned.parameter("first.weight");
  const ::torch::NoGradGuard no_gradients;
  weight.set_data(weight.reshape({3, 4}).clone());
  EXPECT_NE(mark_of(turned).whole, before.whole);
  EXPECT_EQ(mark_of(turned).whole.size(), before.whole.size());
}

TEST(WeightsFingerprint, IsOfTrainedParametersAlone) {
  Model model;
  model.parameter("first.bias").set_requires_grad(false);
  const auto before = mark_of(model);
  EXPECT_EQ(before.names.size(), 3u);
  {
    const ::torch::NoGradGuard no_gradients;
    model.parameter("first.bias").add_(1);
  }
  EXPECT_EQ(mark_of(model).whole, before.whole);
  model.parameter("first.bias").set_requires_grad(true);
  EXPECT_NE(mark_of(model).whole, before.whole);
}

TEST(WeightsFingerprint, LeavesTheWeightsOfAnAcceleratorAsTheyAre) {
  for (const at::ScalarType type : {at::kChar, at::kHalf, at::kBFloat16, at::kFloat, at::kDouble,
                                    at::kComplexFloat, at::kComplexDouble}) {
    SCOPED_TRACE(c10::toString(type));
    const at::Tensor before = at::randn({3, 5}).mul(50).to(type);
    const at::Tensor weight = before.to(at::Device(c10::kPrivateUse1, 0));
    const auto version = weight._version();
    const auto first = fingerprint_weights({{"weight", weight}});
    const auto second = fingerprint_weights({{"weight", weight}});
    EXPECT_EQ(second.whole, first.whole);
    EXPECT_TRUE(at::equal(weight.cpu(), before));
    EXPECT_EQ(weight._version(), version);
  }
}

}  // namespace
}  // namespace ratoon::weights_fingerprint_test
