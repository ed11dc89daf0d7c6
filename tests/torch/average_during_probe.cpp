// A trainer for average_during_test.py: gradients are averaged while backward() runs, and each mean is
// computed once more by hand, from all ranks' samples.
//
//   average_during_probe [kill|modules|mixed|tensors]
//     kill: rank 1 dies in the middle of backward(), once
//     modules: the parts of the model are averaged as several modules
//     mixed: the same in another order than that of backward(), with an unused module, and a tensor alone
//     tensors: the parameters are a list of tensors
#include <chrono>
#include <csignal>
#include <cstdio>
#include <stdexcept>
#include <string_view>
#include <vector>

#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/utils/clip_grad.h>
#include <torch/optim/sgd.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <ratoon/torch.h>

namespace {

constexpr std::uint64_t kSteps = 12;
constexpr std::int64_t kOutputs = 36000;  // so that the last layer is more than a piece
constexpr double kNorm = 0.005;

[[noreturn]] void fail(const std::string& sentence) {
  throw std::runtime_error(sentence);
}

struct NetImpl : torch::nn::Module {
  torch::nn::Linear first = register_module("first", torch::nn::Linear(64, 64));
  torch::Tensor sometimes = register_parameter("sometimes", torch::randn({64}));
  torch::nn::Linear last = register_module("last", torch::nn::Linear(64, kOutputs));
};
TORCH_MODULE(Net);

// The work of one rank in one step.
struct Share {
  std::uint64_t step = 0;
  std::uint32_t rank = 0;

  // The last batch is short, so that one rank has no sample.
  [[nodiscard]] std::int64_t samples() const {
    return step + 1 == kSteps && rank == 2 ? 0 : 1 + static_cast<std::int64_t>(rank + step) % 3;
  }
  [[nodiscard]] bool uses_sometimes() const { return step % 4 == 0 || (step % 4 == 1 && rank == 1); }
  [[nodiscard]] bool has_two_parts() const { return step % 2 == 1; }
  [[nodiscard]] torch::Tensor middle(Net& net, int part) const {
    auto generator = at::make_generator<at::CPUGeneratorImpl>(1000 * step + 10 * rank + part);
    const auto x = torch::randn({samples(), 64}, generator);
    auto h = torch::tanh(net->first->forward(x));
    return uses_sometimes() ? h * net->sometimes : h;
  }
  [[nodiscard]] static torch::Tensor loss(Net& net, const torch::Tensor& middle) {
    return net->last->forward(middle).square().mean();
  }
};

double samples_of_all(std::uint64_t step, std::uint32_t ranks) {
  std::int64_t sum = 0;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) sum += Share{step, rank}.samples();
  return static_cast<double>(sum);
}

// The same by hand: a mean over all ranks, weighted by samples.
std::vector<torch::Tensor> mean_by_hand(Net& net, std::uint64_t step, std::uint32_t ranks) {
  std::vector<torch::Tensor> sums(net->parameters().size());
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const Share share{step, rank};
    if (share.samples() == 0) continue;
    net->zero_grad();
    if (share.has_two_parts()) Share::loss(net, share.middle(net, 0)).backward();
    Share::loss(net, share.middle(net, 1)).backward();
    const auto weight = static_cast<double>(share.samples());
    const auto parameters = net->parameters();
    for (std::size_t i = 0; i < sums.size(); ++i) {
      if (!parameters[i].grad().defined()) continue;
      const auto mine = parameters[i].grad().to(torch::kDouble) * weight;
      sums[i] = sums[i].defined() ? sums[i] + mine : mine;
    }
  }
  net->zero_grad();
  for (torch::Tensor& sum : sums)
    if (sum.defined()) sum /= samples_of_all(step, ranks);
  return sums;
}

void compare(Net& net, const std::vector<torch::Tensor>& expected) {
  const auto parameters = net->named_parameters();
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto& gradient = parameters[i].value().grad();
    if (gradient.defined() != expected[i].defined())
      fail("'" + parameters[i].key() + "' has a gradient, or none, unlike all ranks together");
    if (gradient.defined() && !torch::allclose(gradient.to(torch::kDouble), expected[i], 1e-5, 1e-9))
      fail("the gradient of '" + parameters[i].key() + "' is not the mean");
  }
}

// In the middle of backward(): the last layer has its gradient, and the first is still to come. The sum over
// all ranks appears where the gradient was after the step before.
void wait_for_the_sum(const ratoon::Session& session, const torch::Tensor& place, const torch::Tensor& sum) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(40);
  while (!torch::allclose(place.to(torch::kDouble), sum, 1e-5, 1e-9)) {
    session.check();
    if (std::chrono::steady_clock::now() > deadline) fail("nothing is averaged while backward() goes on");
  }
}

void average(ratoon::Session& session, Net& net, torch::nn::Linear& unused, std::string_view mode,
             const ratoon::Averaging& how) {
  // The second module has the parameters of the two others, too, which count once.
  if (mode == "modules")
    session.average_gradients(ratoon::torch::Modules{{*net->first, *net, *net->last}}, how);
  else if (mode == "mixed")
    session.average_gradients(
        ratoon::torch::Modules{{*net->last, *unused, *net->first}, {net->sometimes, net->first->bias}}, how);
  else if (mode == "tensors")
    session.average_gradients(net->parameters(), how);
  else
    session.average_gradients(*net, how);
  if (unused->weight.grad().defined()) fail("a module that no rank used has a gradient");
}

void train(ratoon::Session& session, std::string_view mode) {
  torch::manual_seed(1);
  Net net;
  torch::nn::Linear unused(3, 3);
  torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  session.track("net", *net);
  session.track("optimizer", optimizer);
  torch::Tensor place;
  for (const std::uint64_t step : session.steps(kSteps)) {
    const Share share{step, session.rank()};
    const auto expected = mean_by_hand(net, step, session.world_size());
    optimizer.zero_grad();
    ratoon::Averaging how{.samples = static_cast<std::uint64_t>(share.samples())};
    torch::Tensor loss;
    if (share.samples() > 0) {
      if (share.has_two_parts()) Share::loss(net, share.middle(net, 0)).backward();
      const auto middle = share.middle(net, 1);
      middle.register_hook([&, step](const torch::Tensor& gradient) {
        const bool dies = mode == "kill" && session.attempt() == 1 && session.rank() == 1 && step == 5;
        if (place.defined())
          wait_for_the_sum(session, place, expected.back() * samples_of_all(step, session.world_size()));
        if (dies) static_cast<void>(std::raise(SIGKILL));
        return gradient;
      });
      loss = Share::loss(net, middle);
      how.backward = [&] { loss.backward(); };
    }
    average(session, net, unused, mode, how);
    compare(net, expected);
    place = net->last->bias.grad();
    torch::nn::utils::clip_grad_norm_(net->parameters(), kNorm);
    optimizer.step();
    std::printf("attempt %u step %u\n", static_cast<unsigned>(session.attempt()),
                static_cast<unsigned>(step));
  }
  std::printf("weights %s\n", ratoon::digest(*net).value().c_str());
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  torch::set_num_threads(1);
  return ratoon::train(ratoon::Options::from_environment(argc, argv),
                       [&](ratoon::Session& session) { train(session, mode); });
}
