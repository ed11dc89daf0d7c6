// The trainer of digits.cpp with LibTorch only: one process, and the run is lost if it is killed.
#include <torch/nn/functional/loss.h>
#include <torch/optim/adamw.h>

#include "flags.h"
#include "glyphs.h"
#include "net.h"

namespace {

constexpr std::int64_t kSamples = 4096;

void train(const Flags& flags, const Glyphs& glyphs) {
  torch::manual_seed(flags.seed);
  const at::Device device(flags.device);
  Net net;
  net->to(device);
  torch::optim::AdamW optimizer(net->parameters(), torch::optim::AdamWOptions(1e-3));
  const auto batch = static_cast<std::int64_t>(flags.batch);
  torch::Tensor order;

  for (std::uint64_t step = 0; step < steps_of(flags, kSamples, flags.batch); ++step) {
    const std::int64_t place = static_cast<std::int64_t>(step) % (kSamples / batch) * batch;
    if (place == 0) order = torch::randperm(kSamples, torch::kLong);
    const auto index = order.narrow(0, place, batch);
    optimizer.zero_grad();
    const auto guess = net->forward(glyphs.images.index_select(0, index).to(device));
    const auto loss = torch::nn::functional::nll_loss(guess, glyphs.labels.index_select(0, index).to(device));
    loss.backward();
    optimizer.step();
    say_step(flags, step, loss.item<double>());
  }
  report_weights(*net, flags.out);
}

}  // namespace

int main(int argc, char** argv) {
  const Flags flags = read_flags(argc, argv);
  torch::set_num_threads(flags.threads);
  const Glyphs glyphs = make_glyphs(kSamples, flags.seed);
  train(flags, glyphs);
}
