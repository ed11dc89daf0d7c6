// Saved and restored objects have the same bits, and a training with a resume ends with the same bits.
#include <functional>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/adagrad.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/lbfgs.h>
#include <torch/optim/rmsprop.h>
#include <torch/optim/sgd.h>

#include <ratoon/failure.h>
#include <ratoon/torch/digest.h>
#include <ratoon/torch/track.h>

#include "tests/support/saved_objects.h"

namespace ratoon::track_test {
namespace {

namespace optim = torch::optim;
using testing::AllOf;
using testing::HasSubstr;

struct NetImpl : torch::nn::Module {
  explicit NetImpl(std::int64_t width = 5) {
    hidden = register_module("hidden", torch::nn::Linear(4, width));
    norm = register_module("norm", torch::nn::BatchNorm1d(width));
    dropout = register_module("dropout", torch::nn::Dropout(0.3));
    last = register_module("last", torch::nn::Linear(torch::nn::LinearOptions(width, 2).bias(false)));
    unused = register_module("unused", torch::nn::Linear(2, 2));  // never has a gradient
  }
  torch::Tensor forward(const torch::Tensor& x) {
    return last->forward(dropout->forward(norm->forward(hidden->forward(x))));
  }
  torch::nn::Linear hidden{nullptr}, last{nullptr}, unused{nullptr};
  torch::nn::BatchNorm1d norm{nullptr};
  torch::nn::Dropout dropout{nullptr};
};
TORCH_MODULE(Net);

using MakeOptimizer = std::function<std::unique_ptr<optim::Optimizer>(std::vector<torch::Tensor>)>;

// Steps on random samples, so that the generator matters too.
void train(Net& net, optim::Optimizer& optimizer, int steps) {
  for (int i = 0; i < steps; ++i) {
    static_cast<void>(optimizer.step([&] {
      optimizer.zero_grad();
      auto loss = net->forward(torch::randn({8, 4})).square().mean();
      loss.backward();
      return loss;
    }));
  }
}

std::string bits_of(const Net& net) {
  return digest(*net).value();
}

std::string refusal(const std::function<void()>& function) {
  try {
    function();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.exit_code, 82);
    return failure.what();
  }
  return "no Failure was thrown";
}

struct OptimizerCase {
  const char* name;
  MakeOptimizer make;
};

class TrackOptimizer : public testing::TestWithParam<OptimizerCase> {};

TEST_P(TrackOptimizer, ATrainingThroughItEndsWithTheSameBits) {
  test::SavedObjects saved;
  torch::manual_seed(3);
  Net net;
  auto optimizer = GetParam().make(net->parameters());
  session::TrackedObjects objects;
  test::track(objects, "net", *net);
  test::track(objects, "optimizer", *optimizer);
  train(net, *optimizer, 5);
  optimizer->param_groups()[0].options().set_lr(0.007);  // as a schedule does
  const auto point = saved.save(objects);
  train(net, *optimizer, 5);
  const auto at_the_end = saved.content(saved.save(objects));

  torch::manual_seed(99);
  Net other;
  auto other_optimizer = GetParam().make(other->parameters());
  train(other, *other_optimizer, 2);  // has a state of its own, which must go
  session::TrackedObjects others;
  test::track(others, "net", *other);
  test::track(others, "optimizer", *other_optimizer);
  saved.load(point, others);
  EXPECT_EQ(saved.content(saved.save(others)), saved.content(point));
  train(other, *other_optimizer, 5);
  EXPECT_EQ(bits_of(other), bits_of(net));
  EXPECT_EQ(saved.content(saved.save(others)), at_the_end);
}

TEST_P(TrackOptimizer, OneThatTookNoStepHasAStateToo) {
  test::SavedObjects saved;
  Net net;
  auto fresh = GetParam().make(net->parameters());
  const auto point = saved.save("optimizer", *fresh);
  auto used = GetParam().make(net->parameters());
  train(net, *used, 2);
  saved.load(point, "optimizer", *used);
  EXPECT_EQ(saved.content(saved.save("optimizer", *used)), saved.content(point));
}

template <class O, class Options>
OptimizerCase kind(const char* name, Options options) {
  return {name, [options](std::vector<torch::Tensor> parameters) {
            return std::make_unique<O>(std::move(parameters), options);
          }};
}

INSTANTIATE_TEST_SUITE_P(
    All, TrackOptimizer,
    testing::Values(kind<optim::SGD>("SGD", optim::SGDOptions(0.1)),
                    kind<optim::SGD>("Momentum", optim::SGDOptions(0.1).momentum(0.9).nesterov(true)),
                    kind<optim::Adam>("Adam", optim::AdamOptions(0.01).betas({0.8, 0.95})),
                    kind<optim::AdamW>("AdamW", optim::AdamWOptions(0.01).amsgrad(true)),
                    kind<optim::Adagrad>("Adagrad", optim::AdagradOptions(0.05)),
                    kind<optim::RMSprop>("RMSprop", optim::RMSpropOptions(0.01).momentum(0.5).centered(true)),
                    kind<optim::LBFGS>("LBFGS",
                                       optim::LBFGSOptions(0.1).max_iter(3).line_search_fn("strong_wolfe"))),
    [](const auto& c) { return std::string(c.param.name); });

TEST(TrackModule, BringsBackWeightsBuffersAndRandomNumbers) {
  test::SavedObjects saved;
  Net net;
  net->train();
  net->forward(torch::randn({8, 4}));  // moves the running means
  const auto point = saved.save("net", *net);
  const std::string bits = bits_of(net);
  const torch::Tensor drawn = torch::randn({3});
  Net other;
  const void* const memory = other->hidden->weight.data_ptr();
  const auto version = other->hidden->weight._version();
  saved.load(point, "net", *other);
  EXPECT_EQ(bits_of(other), bits);
  EXPECT_TRUE(torch::randn({3}).equal(drawn));
  EXPECT_EQ(other->hidden->weight.data_ptr(), memory) << "in place";
  EXPECT_GT(other->hidden->weight._version(), version) << "and autograd knows";
}

TEST(TrackModule, OnARankThatIsNewToTheWorldTheDefaultGeneratorIsSeeded) {
  test::SavedObjects saved;
  torch::manual_seed(3);
  Net net;
  session::TrackedObjects objects;
  test::track(objects, "net", *net);
  const auto point = saved.save(objects);
  const std::string bits = bits_of(net);
  const torch::Tensor of_rank_0 = torch::randn({3});
  optim::SGD sgd(net->parameters(), 0.1);
  train(net, sgd, 1);
  saved.load(point, objects, 2);
  const torch::Tensor of_rank_2 = torch::randn({3});
  EXPECT_EQ(bits_of(net), bits) << "weights are what they were";
  EXPECT_FALSE(of_rank_2.equal(of_rank_0));
  torch::manual_seed(test::SavedObjects::seed_of(2, "net.generator:cpu"));
  EXPECT_TRUE(torch::randn({3}).equal(of_rank_2));
}

TEST(TrackModule, AnObjectThatDrawsAsItIsRestoredChangesNoGenerator) {
  test::SavedObjects saved;
  torch::manual_seed(3);
  Net net;
  session::TrackedObjects objects;
  test::track(objects, "net", *net);
  objects.add(
      "shuffled", [](StateWriter& out) { out.bytes("", "x"); },
      [](StateReader& in) { in.bytes("", [](const std::string&) { torch::randn({5}); }); });
  const auto point = saved.save(objects);
  const torch::Tensor drawn = torch::randn({3});
  saved.load(point, objects);
  EXPECT_TRUE(torch::randn({3}).equal(drawn));
  saved.load(point, objects, 2);
  const torch::Tensor of_new_rank = torch::randn({3});
  torch::manual_seed(test::SavedObjects::seed_of(2, "net.generator:cpu"));
  EXPECT_TRUE(torch::randn({3}).equal(of_new_rank));
}

TEST(TrackGenerator, ComesBackAndIsItsOwn) {
  test::SavedObjects saved;
  auto noise = at::make_generator<at::CPUGeneratorImpl>();
  TrackAdapter<at::Generator>::check(noise, "noise");
  TrackAdapter<at::Generator>::seed(noise, 5);
  EXPECT_EQ(noise.current_seed(), 5u);
  session::TrackedObjects objects;
  test::track(objects, "noise", noise);
  const auto point = saved.save(objects);
  const torch::Tensor drawn = at::randn({3}, noise);
  torch::manual_seed(1);  // another one's
  saved.load(point, objects);
  EXPECT_TRUE(at::randn({3}, noise).equal(drawn));
  saved.load(point, objects, 1);
  EXPECT_EQ(noise.current_seed(), test::SavedObjects::seed_of(1, "noise"));
}

TEST(TrackGenerator, AnUndefinedOneIsRefused) {
  at::Generator none;
  EXPECT_THAT(refusal([&] { TrackAdapter<at::Generator>::check(none, "noise"); }),
              HasSubstr("tracked 'noise' is an undefined generator"));
}

// The view of a PyTorch user of the file.
TEST(TrackModule, TensorsHaveTheNamesOfPyTorch) {
  test::SavedObjects saved;
  Net net;
  optim::AdamW optimizer(net->parameters());
  train(net, optimizer, 1);
  session::TrackedObjects objects;
  test::track(objects, "net", *net);
  test::track(objects, "optimizer", optimizer);
  const auto content = saved.content(saved.save(objects));
  const auto& weight = content.at("net.hidden.weight");
  EXPECT_EQ(weight.type, ElementType::kFloat32);
  EXPECT_EQ(weight.shape, TensorShape({5, 4}));
  EXPECT_EQ(content.at("net.norm.num_batches_tracked").type, ElementType::kInt64);
  EXPECT_TRUE(content.contains("net.generator:cpu"));
  EXPECT_EQ(content.at("optimizer.state.0.exp_avg").shape, TensorShape({5, 4}));
  EXPECT_EQ(content.at("optimizer.param_groups.0.lr").type, ElementType::kFloat64);
  EXPECT_EQ(content.at("optimizer.param_groups.0.params").shape, TensorShape({7}));
}

struct TwiceImpl : torch::nn::Module {
  TwiceImpl() {
    register_parameter("scale", torch::randn({3}));
    register_buffer("scale", torch::randn({4}));
    tied = register_parameter("tied", torch::randn({5}));
    register_parameter("tied_too", tied);
    across = register_buffer("across", torch::randn({4, 3}).t());  // not contiguous
    complex = register_buffer("complex", torch::randn({2}, torch::kComplexFloat).conj());
    repeated = register_buffer("repeated", torch::randn({1, 4}).expand({3, 4}));
  }
  torch::Tensor tied, across, complex, repeated;
};
TORCH_MODULE(Twice);

TEST(TrackModule, SharedNamesSharedMemoryAndOtherLayoutsComeBack) {
  test::SavedObjects saved;
  Twice twice;
  const auto point = saved.save("net", *twice);
  const auto content = saved.content(point);
  EXPECT_EQ(content.at("net.scale").shape, TensorShape({3}));
  EXPECT_EQ(content.at("net.buffer:scale").shape, TensorShape({4}));
  EXPECT_EQ(content.at("net.across").shape, TensorShape({3, 4}));
  Twice other;
  saved.load(point, "net", *other);
  EXPECT_EQ(saved.content(saved.save("net", *other)), content);
  EXPECT_TRUE(other->across.equal(twice->across));
  EXPECT_TRUE(other->complex.equal(twice->complex));
  EXPECT_TRUE(other->repeated.equal(twice->repeated));
}

TEST(TrackModule, ModulesOfAnotherFormAreRefusedByName) {
  test::SavedObjects saved;
  const auto point = saved.save("net", *Net(5));
  Net wider(6);
  const std::string before = bits_of(wider);
  EXPECT_THAT(refusal([&] { saved.load(point, "net", *wider); }),
              AllOf(HasSubstr("tracked 'net'"), HasSubstr("'net.hidden.bias' is F32 of shape [5] in the "
                                                          "checkpoint and F32 of shape [6] in the program")));
  EXPECT_EQ(bits_of(wider), before) << "nothing was touched";
  Net wide_numbers;
  wide_numbers->to(torch::kDouble);
  EXPECT_THAT(refusal([&] { saved.load(point, "net", *wide_numbers); }), HasSubstr("and F64 of shape ["));
  torch::nn::Linear linear(4, 5);
  EXPECT_THAT(refusal([&] { saved.load(point, "net", *linear); }),
              HasSubstr("the checkpoint has no tensor 'net.bias'"));
  const auto small = saved.save("net", *linear);
  torch::nn::Linear without(torch::nn::LinearOptions(4, 5).bias(false));
  EXPECT_THAT(refusal([&] { saved.load(small, "net", *without); }),
              HasSubstr("the program has no tensor \"bias\", which the checkpoint has"));
}

TEST(TrackOptimizers, AnotherOptimizerOrModelIsRefused) {
  test::SavedObjects saved;
  Net net;
  optim::AdamW adamw(net->parameters());
  train(net, adamw, 1);
  const auto point = saved.save("optimizer", adamw);
  optim::SGD sgd(net->parameters(), 0.1);
  EXPECT_THAT(refusal([&] { saved.load(point, "optimizer", sgd); }),
              HasSubstr("has the state of a AdamW, but the program tracks a SGD"));
  optim::AdamW fewer(net->hidden->parameters());
  EXPECT_THAT(refusal([&] { saved.load(point, "optimizer", fewer); }),
              HasSubstr("group 0 has 7 parameters in the checkpoint and 2 in the program"));
  Net wider(6);
  optim::AdamW of_wider(wider->parameters());
  EXPECT_THAT(refusal([&] { saved.load(point, "optimizer", of_wider); }),
              AllOf(HasSubstr("'optimizer.state.0.exp_avg'"), HasSubstr("[5,4]"), HasSubstr("[6,4]")));
  EXPECT_TRUE(of_wider.state().empty()) << "nothing was touched";
}

TEST(TrackModule, WhatCannotBeSavedIsSaidByName) {
  test::SavedObjects saved;
  struct DoublesImpl : torch::nn::Module {
    DoublesImpl() { register_buffer("z", torch::zeros({2}, torch::kComplexDouble)); }
  } doubles;
  EXPECT_THAT(
      refusal([&] { saved.save("net", static_cast<torch::nn::Module&>(doubles)); }),
      AllOf(HasSubstr("tracked 'net': it cannot be saved"), HasSubstr("\"z\""), HasSubstr("ComplexDouble")));
}

class OwnOptimizer : public optim::Optimizer {
 public:
  explicit OwnOptimizer(std::vector<torch::Tensor> parameters)
      : Optimizer(std::move(parameters), std::make_unique<optim::SGDOptions>(0.1)) {}
  torch::Tensor step(LossClosure) override { return {}; }
};

// Untracked optimizers would begin anew at each start, beside moments that do not.
TEST(TrackOptimizers, AParameterThatNothingTracksIsRefusedByItsNumber) {
  const at::Tensor scale = at::ones({2, 3});
  torch::nn::Linear net(4, 2);
  std::vector<at::Tensor> parameters = net->parameters();
  parameters.push_back(scale);
  optim::SGD optimizer(parameters, optim::SGDOptions(0.1));
  const auto check = [&](bool is_scale_tracked) {
    session::TrackedObjects objects;
    test::track(objects, "net", *net);
    test::track(objects, "optimizer", optimizer);
    at::Tensor view = scale.view({3, 2});  // the same memory
    if (is_scale_tracked) test::track(objects, "scale", view);
    session::TrackedObjects::check_all_tracked(objects.collect());
  };
  EXPECT_NO_THROW(check(true));
  try {
    check(false);
    FAIL() << "it is in no checkpoint";
  } catch (const Failure& why) {
    EXPECT_EQ(why.exit_code, 82);
    EXPECT_NE(
        std::string(why.what())
            .find("tracked 'optimizer' changes parameter 2 (group 0, shape [2, 3]), which is not tracked"),
        std::string::npos)
        << why.what();
  }
}

// An optimizer with more state than LibTorch's own, which a checkpoint would not contain.
class AveragedAdam : public optim::Adam {
 public:
  using Adam::Adam;
  torch::Tensor average = torch::ones({2});
};

TEST(TrackOptimizers, OnesDerivedFromLibTorchsOwnAreRefusedAtOnce) {
  AveragedAdam own({torch::ones({2}, torch::requires_grad())});
  EXPECT_THAT(refusal([&] { TrackAdapter<AveragedAdam>::check(own, "own"); }),
              AllOf(HasSubstr("tracked 'own'"), HasSubstr("of a derived class"),
                    HasSubstr("specialise ratoon::TrackAdapter")));
}

TEST(TrackOptimizers, OnesOfTheProgramsOwnAreRefusedAtOnce) {
  Net net;
  OwnOptimizer own(net->parameters());
  EXPECT_THAT(refusal([&] { TrackAdapter<OwnOptimizer>::check(own, "own"); }),
              HasSubstr("specialise ratoon::TrackAdapter"));
}

}  // namespace
}  // namespace ratoon::track_test
