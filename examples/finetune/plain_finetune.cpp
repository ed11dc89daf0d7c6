// The trainer of finetune.cpp with LibTorch only: one process, and the run is lost if it is killed.
#include <algorithm>
#include <array>
#include <limits>

#include <torch/data/dataloader.h>
#include <torch/data/samplers/random.h>
#include <torch/data/transforms/stack.h>
#include <torch/nn/functional/loss.h>
#include <torch/nn/utils/clip_grad.h>
#include <torch/optim/sgd.h>
#include <torch/serialize.h>

#include "../digits/flags.h"
#include "../digits/net.h"
#include "turned_glyphs.h"

namespace {

constexpr std::int64_t kSamples = 960;
constexpr std::int64_t kSamplesOfValidation = 240;
constexpr std::int64_t kParts = 2;      // of a batch, whose gradients are accumulated
constexpr std::uint64_t kPatience = 3;  // validations that are no better by kLeast
constexpr double kLeast = 0.03;

double validate(Net& net, const Glyphs& glyphs) {
  const torch::NoGradGuard no_gradients;
  net->eval();
  std::array<double, 2> sums{};  // of losses, and of samples
  for (std::int64_t i = 0; i < kSamplesOfValidation; ++i) {
    const auto guess = net->forward(glyphs.images.narrow(0, i, 1));
    sums[0] += torch::nn::functional::nll_loss(guess, glyphs.labels.narrow(0, i, 1)).item<double>();
    sums[1] += 1;
  }
  net->train();
  return sums[0] / sums[1];
}

void train(const Flags& flags) {
  torch::manual_seed(flags.seed);
  Net net;
  torch::load(net, "digits.pt");
  for (auto& weight : net->first->parameters()) weight.set_requires_grad(false);
  torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(0.02).momentum(0.9));
  const TurnedGlyphs validation(kSamplesOfValidation, flags.seed + 1);
  auto data = TurnedGlyphs(kSamples, flags.seed).map(torch::data::transforms::Stack<>());
  auto loader = torch::data::make_data_loader<torch::data::samplers::RandomSampler>(data, flags.batch);
  const std::uint64_t epochs = flags.epochs > 0 ? flags.epochs : 6;
  const std::uint64_t quarter = std::max<std::uint64_t>(kSamples / flags.batch / 4, 1);
  std::uint64_t step = 0;
  double lowest = std::numeric_limits<double>::max();
  std::uint64_t no_better = 0;

  for (std::uint64_t epoch = 0; epoch < epochs && no_better < kPatience; ++epoch) {
    for (auto& batch : *loader) {
      const auto pictures = batch.data.chunk(kParts), labels = batch.target.chunk(kParts);
      const double done =
          std::min(1.0, static_cast<double>(step) / static_cast<double>(4 * quarter * epochs));
      for (auto& group : optimizer.param_groups()) group.options().set_lr(0.02 * (1 - done));
      optimizer.zero_grad();
      double loss = 0;
      for (std::size_t part = 0; part < pictures.size(); ++part) {
        const auto guess = net->forward(pictures[part]);
        const auto loss_of_part = torch::nn::functional::nll_loss(guess, labels[part]) / kParts;
        loss_of_part.backward();
        loss += loss_of_part.item<double>();
      }
      torch::nn::utils::clip_grad_norm_(net->parameters(), 1.0);
      optimizer.step();
      say_step(flags, step, loss);
      if (++step % quarter != 0) continue;
      const double validated = validate(net, validation.glyphs());
      if (validated < lowest - kLeast) {
        lowest = validated;
        no_better = 0;
        torch::save(net, "best.pt");
      } else if (++no_better == kPatience) {
        break;
      }
    }
  }
  report_weights(*net, flags.out);
}

}  // namespace

int main(int argc, char** argv) {
  const Flags flags = read_flags(argc, argv);
  torch::set_num_threads(flags.threads);
  train(flags);
}
