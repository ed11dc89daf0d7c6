// A small GPT learns to write, letter by letter, on any number of processes. Kill any process at any time.
// Its samples come in the order of torch::randperm, as in the trainer without Ratoon: a single process ends
// with the weights of plain_charlm, bit for bit.
#include <cstdio>

#include <torch/optim/adamw.h>

#include <ratoon/torch.h>
#include <ratoon/torch_stream.h>

#include "corpus.h"
#include "flags.h"
#include "gpt.h"

namespace {

void train(ratoon::Session& session, const Flags& flags, const Corpus& corpus) {
  torch::manual_seed(flags.seed);
  const at::Device device = ratoon::torch::device_for(session, flags.device);
  Gpt model(corpus.letters(), Corpus::kWindow);
  model->to(device);
  if (session.rank() > 0) torch::manual_seed(flags.seed + session.rank());  // each rank has its own dropout
  torch::optim::AdamW optimizer(model->parameters(), torch::optim::AdamWOptions());
  ratoon::Stream stream(session.stream_options(ratoon::torch_stream(
      {.samples = corpus.windows(), .seed = flags.seed}, {.batch_size = flags.batch, .drop_last = true})));
  session.track("model", *model);
  session.track("optimizer", optimizer);
  session.track("stream", stream);

  for (const std::uint64_t step : session.steps(flags.steps)) {
    const auto index = ratoon::torch::index(stream.take(session.rank(), session.world_size()));
    for (auto& group : optimizer.param_groups()) group.options().set_lr(learning_rate(step, flags.steps));
    optimizer.zero_grad();
    const auto loss = model->loss(corpus.rows(index).to(device));
    loss.backward();
    session.report("loss", loss.item<double>());
    session.average_gradients(*model, {.over_host = flags.over_host});
    optimizer.step();
    say_step(flags, step, loss.item<double>(), session.rank(), session.attempt());
  }
  report_weights(*model, session.rank() == 0 ? flags.out : "");
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
  return ratoon::train(ratoon::Options::from_environment(argc, argv),
                       [&](ratoon::Session& session) { train(session, flags, corpus); });
}
