// A small convolutional network learns to read digits, on any number of processes. Kill any process at any
// time: the weights at the end are, bit for bit, the weights of an uninterrupted run.
#include <torch/nn/functional/loss.h>
#include <torch/optim/adamw.h>

#include <ratoon/torch.h>

#include "flags.h"
#include "glyphs.h"
#include "net.h"

namespace {

constexpr std::int64_t kSamples = 4096;

void train(ratoon::Session& session, const Flags& flags, const Glyphs& glyphs) {
  torch::manual_seed(flags.seed);  // the same on all ranks, so that all start with the same weights
  const at::Device device = ratoon::torch::device_for(session, flags.device);
  Net net;
  net->to(device);
  torch::manual_seed(flags.seed + 1 + session.rank());  // a different dropout on each rank
  torch::optim::AdamW optimizer(net->parameters(), torch::optim::AdamWOptions(1e-3));
  ratoon::Stream stream(session.stream_options({.samples = kSamples, .global_batch = flags.batch}));
  session.track("net", *net);
  session.track("optimizer", optimizer);
  session.track("stream", stream);

  for (const std::uint64_t step : session.steps(steps_of(flags, kSamples, stream.global_batch()))) {
    const auto index = ratoon::torch::index(stream.take(session.rank(), session.world_size()));
    optimizer.zero_grad();
    const auto guess = net->forward(glyphs.images.index_select(0, index).to(device));
    const auto loss = torch::nn::functional::nll_loss(guess, glyphs.labels.index_select(0, index).to(device));
    loss.backward();
    session.report("loss", loss.item<double>());
    session.average_gradients(*net, {.over_host = flags.over_host});
    optimizer.step();
    say_step(flags, step, loss.item<double>(), session.rank(), session.attempt());
  }
  report_weights(*net, session.rank() == 0 ? flags.out : "");
}

}  // namespace

int main(int argc, char** argv) {
  const Flags flags = read_flags(argc, argv);
  torch::set_num_threads(flags.threads);
  const Glyphs glyphs = make_glyphs(kSamples, flags.seed);
  return ratoon::train(ratoon::Options::from_environment(argc, argv),
                       [&](ratoon::Session& session) { train(session, flags, glyphs); });
}
