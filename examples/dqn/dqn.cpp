// A network learns to balance a pole, from what it has tried: Q-learning with an environment, a replay buffer
// and a target network of the program's own. Kill the process at any time: it ends at the same step, with the
// same weights, as an uninterrupted run.
#include <deque>
#include <numeric>

#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/adam.h>

#include <ratoon/random_engine.h>
#include <ratoon/torch.h>

#include "../digits/flags.h"
#include "../digits/net.h"
#include "pole.h"
#include "replay.h"

namespace {

constexpr std::size_t kEpisodes = 10;  // whose mean length says whether the task is solved
constexpr double kSolved = 25;

torch::nn::Sequential make_net() {
  return torch::nn::Sequential(torch::nn::Linear(4, 32), torch::nn::ReLU(), torch::nn::Linear(32, 2));
}

void copy_weights(torch::nn::Sequential& from, torch::nn::Sequential& to) {
  const torch::NoGradGuard no_gradients;
  const auto weights = from->parameters();
  for (std::size_t i = 0; i < weights.size(); ++i) to->parameters()[i].copy_(weights[i]);
}

bool choose(torch::nn::Sequential& net, const Pole& pole, double explore, std::mt19937_64& random) {
  if (draw_unit(random) < explore) return draw_unit(random) < 0.5;
  const std::vector<float> state(pole.state.begin(), pole.state.end());
  return net->forward(torch::tensor(state)).argmax().item<std::int64_t>() == 1;
}

torch::Tensor loss_of(torch::nn::Sequential& net, torch::nn::Sequential& target, const torch::Tensor& rows) {
  const auto action = rows.narrow(1, 4, 1).to(torch::kLong);
  const auto guess = net->forward(rows.narrow(1, 0, 4)).gather(1, action);
  const auto next = target->forward(rows.narrow(1, 7, 4)).amax(1, true).detach();
  const auto truth = rows.narrow(1, 6, 1) + 0.9 * rows.narrow(1, 5, 1) * next;
  return torch::nn::functional::smooth_l1_loss(guess, truth);
}

void train(ratoon::Session& session, const Flags& flags) {
  torch::manual_seed(flags.seed);
  torch::nn::Sequential net = make_net(), target = make_net();
  copy_weights(net, target);
  torch::optim::Adam optimizer(net->parameters(), torch::optim::AdamOptions(1e-2));
  std::mt19937_64 random(flags.seed);
  Pole pole(flags.seed);
  Replay replay;
  std::deque<double> lengths;  // of the last episodes
  session.track("net", *net);
  session.track("target", *target);
  session.track("optimizer", optimizer);
  session.track("random", random);
  session.track("pole.random", pole.random);
  session.track("pole.state", pole.state);
  session.track("pole.pushes", pole.pushes);
  session.track("replay", replay.rows, {.is_saved_in_parts = true});
  session.track("oldest", replay.oldest);
  session.track("lengths", lengths);

  for (const std::uint64_t step : session.steps(flags.steps)) {
    const double explore = 1 / (1 + 0.01 * static_cast<double>(step));
    const auto before = pole.state;
    const bool is_to_the_right = choose(net, pole, explore, random);
    const bool stands = pole.push(is_to_the_right);
    replay.add(before, is_to_the_right, stands, pole.state);
    if (!stands) {
      lengths.push_back(static_cast<double>(pole.pushes));
      if (lengths.size() > kEpisodes) lengths.pop_front();
      pole.stand_up();
    }
    optimizer.zero_grad();
    const auto loss = loss_of(net, target, replay.draw(32, random));
    loss.backward();
    optimizer.step();
    if (step % 10 == 0) copy_weights(net, target);
    session.report("loss", loss.item<double>());
    say_step(flags, step, loss.item<double>(), session.rank(), session.attempt());
    const double pushes = std::accumulate(lengths.begin(), lengths.end(), 0.0);
    if (!stands && pushes > kSolved * kEpisodes) session.finish("solved");
  }
  report_weights(*net, flags.out);
}

}  // namespace

int main(int argc, char** argv) {
  const Flags flags = read_flags(argc, argv);
  torch::set_num_threads(flags.threads);
  return ratoon::train(ratoon::Options::from_environment(argc, argv), [&](auto& run) { train(run, flags); });
}
