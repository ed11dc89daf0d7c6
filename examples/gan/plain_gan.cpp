// The trainer of gan.cpp with LibTorch only: one process, and the run is lost if it is killed.
#include <cstdio>

#include <torch/nn/functional/loss.h>
#include <torch/optim/adam.h>

#include "../digits/flags.h"
#include "../digits/net.h"
#include "nets.h"

namespace {

constexpr double kGoodEnough = 1.33;  // the loss of a discriminator that trains the generator

torch::Tensor loss_of(const torch::Tensor& guess, bool is_real) {
  const auto truth = torch::full_like(guess, is_real ? 1.0 : 0.0);
  return torch::nn::functional::binary_cross_entropy_with_logits(guess, truth);
}

void follow(Generator& average, Generator& generator) {
  const torch::NoGradGuard no_gradients;
  const auto from = generator->parameters();
  const auto to = average->parameters();
  for (std::size_t i = 0; i < to.size(); ++i) to[i].lerp_(from[i], 0.05);
}

void train(const Flags& flags) {
  torch::manual_seed(flags.seed);
  Generator generator;
  Discriminator discriminator;
  Generator average;  // of the weights of the generator
  const auto how = torch::optim::AdamOptions(2e-3).betas({0.5, 0.9});
  torch::optim::Adam generator_optimizer(generator->parameters(), how);
  torch::optim::Adam discriminator_optimizer(discriminator->parameters(), how);
  const auto count = static_cast<std::int64_t>(flags.batch);
  std::uint64_t trained = 0;

  for (std::uint64_t step = 0; step < flags.steps; ++step) {
    discriminator_optimizer.zero_grad();
    const auto made = generator->forward(torch::randn({count, kNoise})).detach();
    const auto of_real = loss_of(discriminator->forward(draw_points(count)), true);
    const auto loss = of_real + loss_of(discriminator->forward(made), false);
    loss.backward();
    discriminator_optimizer.step();
    const double mean = loss.item<double>();
    if (mean < kGoodEnough) {
      generator_optimizer.zero_grad();
      const auto points = generator->forward(torch::randn({count, kNoise}));
      loss_of(discriminator->forward(points), true).backward();
      generator_optimizer.step();
      follow(average, generator);
      ++trained;
    }
    say_step(flags, step, mean);
  }
  std::printf("the generator was trained in %llu steps\n", static_cast<unsigned long long>(trained));
  report_weights(*average, flags.out);
}

}  // namespace

int main(int argc, char** argv) {
  const Flags flags = read_flags(argc, argv);
  torch::set_num_threads(flags.threads);
  train(flags);
}
