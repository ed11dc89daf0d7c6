// What is saved and brought back has the same bits, and a training that goes through it ends with the same
// bits.
#include <functional>

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

namespace ratoon {
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
  torch::manual_seed(3);
  Net net;
  auto optimizer = GetParam().make(net->parameters());
  train(net, *optimizer, 5);
  optimizer->param_groups()[0].options().set_lr(0.007);  // as a schedule does
  const std::string net_state = save_module(*net, "net");
  const std::string optimizer_state = save_optimizer(*optimizer, "optimizer");
  train(net, *optimizer, 5);

  torch::manual_seed(99);
  Net other;
  auto other_optimizer = GetParam().make(other->parameters());
  train(other, *other_optimizer, 2);  // has a state of its own, which must go
  load_module(*other, "net", net_state);
  load_optimizer(*other_optimizer, "optimizer", optimizer_state);
  EXPECT_EQ(save_module(*other, "net"), net_state);
  EXPECT_EQ(save_optimizer(*other_optimizer, "optimizer"), optimizer_state);
  train(other, *other_optimizer, 5);
  EXPECT_EQ(bits_of(other), bits_of(net));
  EXPECT_EQ(save_optimizer(*other_optimizer, "optimizer"), save_optimizer(*optimizer, "optimizer"));
}

TEST_P(TrackOptimizer, OneThatTookNoStepHasAStateToo) {
  Net net;
  auto fresh = GetParam().make(net->parameters());
  const std::string state = save_optimizer(*fresh, "optimizer");
  auto used = GetParam().make(net->parameters());
  train(net, *used, 2);
  load_optimizer(*used, "optimizer", state);
  EXPECT_EQ(save_optimizer(*used, "optimizer"), state);
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
  Net net;
  net->train();
  net->forward(torch::randn({8, 4}));  // moves the running means
  const std::string state = save_module(*net, "net");
  const std::string bits = bits_of(net);
  const torch::Tensor drawn = torch::randn({3});
  Net other;
  load_module(*other, "net", state);
  EXPECT_EQ(bits_of(other), bits);
  EXPECT_TRUE(torch::randn({3}).equal(drawn));
}

TEST(TrackModule, ModulesOfAnotherFormAreRefusedByName) {
  const std::string state = save_module(*Net(5), "net");
  Net wider(6);
  const std::string before = bits_of(wider);
  EXPECT_THAT(refusal([&] { load_module(*wider, "net", state); }),
              AllOf(HasSubstr("tracked 'net'"),
                    HasSubstr("\"buffer norm.running_mean\" is F32 [5] in the checkpoint and "
                              "F32 [6] in the program")));
  EXPECT_EQ(bits_of(wider), before) << "nothing was touched";
  Net wide_numbers;
  wide_numbers->to(torch::kDouble);
  EXPECT_THAT(refusal([&] { load_module(*wide_numbers, "net", state); }), HasSubstr("and F64 ["));
  torch::nn::Linear linear(4, 5);
  EXPECT_THAT(refusal([&] { load_module(*linear, "net", state); }),
              HasSubstr("the checkpoint has no tensor \"parameter bias\""));
  const std::string small = save_module(*linear, "net");
  torch::nn::Linear without(torch::nn::LinearOptions(4, 5).bias(false));
  EXPECT_THAT(refusal([&] { load_module(*without, "net", small); }),
              HasSubstr("the program has no tensor \"parameter bias\", which the checkpoint has"));
}

TEST(TrackOptimizers, AnotherOptimizerOrModelIsRefused) {
  Net net;
  optim::AdamW adamw(net->parameters());
  train(net, adamw, 1);
  const std::string state = save_optimizer(adamw, "optimizer");
  optim::SGD sgd(net->parameters(), 0.1);
  EXPECT_THAT(refusal([&] { load_optimizer(sgd, "optimizer", state); }),
              HasSubstr("has the state of a AdamW and the program tracks a SGD"));
  optim::AdamW fewer(net->hidden->parameters());
  EXPECT_THAT(refusal([&] { load_optimizer(fewer, "optimizer", state); }),
              HasSubstr("group 0 has 7 parameters in the checkpoint and 2 in the program"));
  Net wider(6);
  optim::AdamW of_wider(wider->parameters());
  EXPECT_THAT(refusal([&] { load_optimizer(of_wider, "optimizer", state); }),
              AllOf(HasSubstr("\"parameter 0.0 exp_avg\""), HasSubstr("[5, 4]"), HasSubstr("[6, 4]")));
}

class OwnOptimizer : public optim::Optimizer {
 public:
  explicit OwnOptimizer(std::vector<torch::Tensor> parameters)
      : Optimizer(std::move(parameters), std::make_unique<optim::SGDOptions>(0.1)) {}
  torch::Tensor step(LossClosure) override { return {}; }
};

TEST(TrackOptimizers, OnesOfTheProgramsOwnAreRefusedAtOnce) {
  Net net;
  OwnOptimizer own(net->parameters());
  EXPECT_THAT(refusal([&] { TrackAdapter<OwnOptimizer>::check(own, "own"); }),
              HasSubstr("specialise ratoon::TrackAdapter"));
}

TEST(TrackModule, DamageIsTakenWithoutHarm) {
  const std::string state = save_module(*torch::nn::Linear(2, 2), "net");
  torch::nn::Linear linear(2, 2);
  for (std::size_t at = 0; at < std::min<std::size_t>(state.size(), 600); ++at) {
    std::string damaged = state;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x15);
    try {
      load_module(*linear, "net", damaged);
    } catch (const Failure&) {  // or it is another number, which the pack's digest finds
    }
    EXPECT_THROW(load_module(*linear, "net", state.substr(0, at)), Failure);
  }
}

}  // namespace
}  // namespace ratoon
