// A network that the example digits has trained learns turned digits, on any number of processes:
// --load-from <save folder>/digits, or for several processes a manifest in it. Kill any process at any time:
// the run validates, keeps its best weights and ends as an uninterrupted run.
#include <algorithm>
#include <array>

#include <torch/data/transforms/stack.h>
#include <torch/nn/functional/loss.h>
#include <torch/nn/utils/clip_grad.h>
#include <torch/optim/sgd.h>

#include <ratoon/session/early_stopping.h>
#include <ratoon/session/epochs.h>
#include <ratoon/torch.h>

#include "../digits/flags.h"
#include "../digits/net.h"
#include "turned_glyphs.h"

namespace {

constexpr std::int64_t kSamples = 960;
constexpr std::int64_t kSamplesOfValidation = 240;
constexpr std::int64_t kParts = 2;      // of a batch, whose gradients are accumulated
constexpr std::uint64_t kPatience = 3;  // validations that are no better by kLeast
constexpr double kLeast = 0.03;

double validate(ratoon::Session& session, Net& net, const Glyphs& glyphs) {
  const torch::NoGradGuard no_gradients;
  net->eval();
  std::array<double, 2> sums{};  // of losses, and of samples
  for (std::int64_t i = session.rank(); i < kSamplesOfValidation; i += session.world_size()) {
    const auto guess = net->forward(glyphs.images.narrow(0, i, 1));
    sums[0] += torch::nn::functional::nll_loss(guess, glyphs.labels.narrow(0, i, 1)).item<double>();
    sums[1] += 1;
  }
  session.sum(sums);
  net->train();
  return sums[0] / sums[1];
}

void train(ratoon::Session& session, const Flags& flags) {
  torch::manual_seed(flags.seed);
  Net net;
  torch::manual_seed(flags.seed + 1 + session.rank());  // different noise and dropout on each rank
  for (auto& weight : net->first->parameters()) weight.set_requires_grad(false);
  torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(0.02).momentum(0.9));
  const TurnedGlyphs validation(kSamplesOfValidation, flags.seed + 1);
  auto data = TurnedGlyphs(kSamples, flags.seed).map(torch::data::transforms::Stack<>());
  ratoon::Stream stream(session.stream_options({.samples = kSamples, .global_batch = flags.batch}));
  auto loader = ratoon::torch::batches(data, stream, {session.rank(), session.world_size()});
  const std::uint64_t epochs = flags.epochs > 0 ? flags.epochs : 6;
  const std::uint64_t quarter = std::max<std::uint64_t>(kSamples / flags.batch / 4, 1);
  std::uint64_t step = 0;
  ratoon::EarlyStopping patience({.patience = kPatience, .min_delta = kLeast});
  session.track("net", *net);
  session.track("optimizer", optimizer);
  session.track("stream", stream);
  session.track("step", step);
  session.track("patience", patience);

  for (const auto& epoch : ratoon::epochs(session, stream, epochs)) {
    for (auto& batch : epoch.batches(loader)) {
      const auto pictures = batch->data.chunk(kParts), labels = batch->target.chunk(kParts);
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
      session.average_gradients(*net);
      torch::nn::utils::clip_grad_norm_(net->parameters(), 1.0);
      optimizer.step();
      say_step(flags, step, loss, session.rank(), session.attempt());
      if (++step % quarter != 0) continue;
      const double validated = validate(session, net, validation.glyphs());
      session.save_best("validation loss", validated, {.keep = 2});
      if (patience.is_over(validated)) session.finish("the loss no longer falls");
    }
  }
  report_weights(*net, flags.out);
}

}  // namespace

int main(int argc, char** argv) {
  const Flags flags = read_flags(argc, argv);
  torch::set_num_threads(flags.threads);
  return ratoon::train(ratoon::Options::from_environment(argc, argv), [&](auto& run) { train(run, flags); });
}
