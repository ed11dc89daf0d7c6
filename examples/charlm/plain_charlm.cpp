// The trainer of charlm.cpp with LibTorch only: one process, and the run is lost if it is killed.
#include <cstdio>

#include <ATen/CPUGeneratorImpl.h>
#include <torch/optim/adamw.h>

#include "corpus.h"
#include "flags.h"
#include "gpt.h"

namespace {

void train(const Flags& flags, const Corpus& corpus) {
  torch::manual_seed(flags.seed);
  const at::Device device(flags.device);
  Gpt model(corpus.letters(), Corpus::kWindow);
  model->to(device);
  torch::optim::AdamW optimizer(model->parameters(), torch::optim::AdamWOptions());
  const auto samples = static_cast<std::int64_t>(corpus.windows());
  const auto batch = static_cast<std::int64_t>(flags.batch);
  const std::uint64_t batches = corpus.windows() / flags.batch;  // per epoch
  torch::Tensor order;

  for (std::uint64_t step = 0; step < flags.steps; ++step) {
    const std::uint64_t epoch = step / batches;
    if (step % batches == 0)
      order = torch::randperm(samples, at::make_generator<at::CPUGeneratorImpl>(flags.seed + epoch));
    const auto index = order.narrow(0, static_cast<std::int64_t>(step % batches) * batch, batch);
    for (auto& group : optimizer.param_groups()) group.options().set_lr(learning_rate(step, flags.steps));
    optimizer.zero_grad();
    const auto loss = model->loss(corpus.rows(index).to(device));
    loss.backward();
    optimizer.step();
    say_step(flags, step, loss.item<double>());
  }
  report_weights(*model, flags.out);
  std::printf(
      "%s\n",
      corpus.text_of(model->sample(corpus.rows(torch::zeros(1, torch::kLong))[0].to(device), 120).cpu())
          .c_str());
}

}  // namespace

int main(int argc, char** argv) {
  const Flags flags = read_flags(argc, argv);
  torch::set_num_threads(flags.threads);
  const Corpus corpus(flags.text, flags.seed);
  train(flags, corpus);
}
