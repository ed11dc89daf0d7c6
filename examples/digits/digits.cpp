// A small convolutional network learns to read digits, on as many processes as there are. Kill any of them,
// whenever you like: the weights at the end are those of a run in which nothing happened, bit for bit.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/adamw.h>

#include <ratoon/atomic_file.h>
#include <ratoon/torch.h>

#include "glyphs.h"

namespace {

constexpr std::int64_t kSamples = 4096;

struct Flags {
  std::uint64_t steps = 400;
  std::uint64_t epochs = 0;  // above 0: instead of steps
  std::uint64_t batch = 96;  // of all processes together
  std::uint64_t seed = 17;
  std::uint64_t pause_ms = 0;
  int threads = 1;
  std::string out;  // a file for the digest of the weights at the end
};

// The last one counts, so that `ratoon run job.yaml -- --steps 50` overrides what the file says.
Flags read_flags(int argc, char** argv) {
  Flags flags;
  for (int i = 1; i + 1 < argc; ++i) {
    const std::string_view flag = argv[i];
    const std::uint64_t number = std::strtoull(argv[i + 1], nullptr, 10);
    if (flag == "--steps") flags.steps = number;
    if (flag == "--epochs") flags.epochs = number;
    if (flag == "--batch") flags.batch = number;
    if (flag == "--seed") flags.seed = number;
    if (flag == "--pause-ms") flags.pause_ms = number;
    if (flag == "--threads") flags.threads = static_cast<int>(number);
    if (flag == "--out") flags.out = argv[i + 1];
  }
  if (flags.epochs > 0 && flags.batch > 0) flags.steps = flags.epochs * kSamples / flags.batch;
  return flags;
}

struct NetImpl : torch::nn::Module {
  torch::Tensor forward(torch::Tensor x) {
    x = torch::max_pool2d(torch::relu(first->forward(x)), 2);
    x = torch::max_pool2d(torch::relu(second->forward(x)), 2);
    x = torch::relu(hidden->forward(x.flatten(1)));
    return torch::log_softmax(last->forward(dropout->forward(x)), 1);
  }
  torch::nn::Conv2d first =
      register_module("first", torch::nn::Conv2d(torch::nn::Conv2dOptions(1, 16, 3).padding(1)));
  torch::nn::Conv2d second =
      register_module("second", torch::nn::Conv2d(torch::nn::Conv2dOptions(16, 32, 3).padding(1)));
  torch::nn::Linear hidden = register_module("hidden", torch::nn::Linear(32 * 4 * 4, 128));
  torch::nn::Dropout dropout = register_module("dropout", torch::nn::Dropout(0.25));
  torch::nn::Linear last = register_module("last", torch::nn::Linear(128, 10));
};
TORCH_MODULE(Net);

void report_weights(const Net& net, const Flags& flags, const ratoon::Session& session) {
  const auto digest = ratoon::digest(*net);
  if (!digest) throw std::runtime_error(digest.error().message());
  std::printf("weights %s\n", digest->c_str());
  std::fflush(stdout);
  if (flags.out.empty() || session.rank() != 0) return;
  const std::string line = *digest + "\n";
  if (const auto saved = ratoon::save_file_atomically(flags.out, line); !saved)
    throw std::runtime_error(saved.error().message());
}

void train(ratoon::Session& session, const Flags& flags, const Glyphs& glyphs) {
  torch::manual_seed(flags.seed);  // the same on all ranks, so that all begin with the same weights
  Net net;
  torch::manual_seed(flags.seed + 1 + session.rank());  // and each drops other neurons
  torch::optim::AdamW optimizer(net->parameters(), torch::optim::AdamWOptions(1e-3));
  ratoon::Stream stream({.samples = kSamples,
                         .global_batch = flags.batch,
                         .seed = flags.seed,
                         .source = "glyphs " + std::to_string(flags.seed)});
  session.track("net", *net);
  session.track("optimizer", optimizer);
  session.track("stream", stream);

  for (const std::uint64_t step : session.steps(flags.steps)) {
    std::vector<std::int64_t> samples;
    for (const ratoon::Slot& slot : stream.take(session.rank(), session.world_size()))
      samples.push_back(static_cast<std::int64_t>(slot.sample));
    const auto index = torch::tensor(samples, torch::kLong);
    optimizer.zero_grad();
    const auto guess = net->forward(glyphs.images.index_select(0, index));
    const auto loss = torch::nn::functional::nll_loss(guess, glyphs.labels.index_select(0, index));
    loss.backward();
    session.average_gradients(*net);
    optimizer.step();
    std::printf("attempt %llu rank %u step %llu loss %.6f\n",
                static_cast<unsigned long long>(session.attempt()), session.rank(),
                static_cast<unsigned long long>(step), loss.item<double>());
    std::fflush(stdout);
    if (flags.pause_ms > 0) std::this_thread::sleep_for(std::chrono::milliseconds(flags.pause_ms));
  }
  report_weights(net, flags, session);
}

}  // namespace

int main(int argc, char** argv) {
  const Flags flags = read_flags(argc, argv);
  torch::set_num_threads(flags.threads);
  const Glyphs glyphs = make_glyphs(kSamples, flags.seed);
  return ratoon::train(ratoon::Options::from_environment(argc, argv),
                       [&](ratoon::Session& session) { train(session, flags, glyphs); });
}
