// A trainer for exactness_test.py that combines all parts with state: every optimizer of LibTorch, dropout,
// batch norm, gradients of two batches in a step, augmentation, schedules, validation.
//
//   exactness_probe                 runs to its end
//   exactness_probe kill            the last rank dies within a validation, later rank 0 between two
//   backward() exactness_probe kill 7 12       in each of the first 12 attempts one rank dies at a place of a
//   step that
//                                   follows from the seed 7
#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string_view>
#include <vector>

#include <ATen/CPUGeneratorImpl.h>
#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/utils/clip_grad.h>
#include <torch/optim/adagrad.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/lbfgs.h>
#include <torch/optim/rmsprop.h>
#include <torch/optim/schedulers/reduce_on_plateau_scheduler.h>
#include <torch/optim/schedulers/step_lr.h>
#include <torch/optim/sgd.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <ratoon/torch.h>

namespace {

namespace optim = torch::optim;
using namespace std::chrono_literals;

constexpr std::uint64_t kSteps = 30;
constexpr std::uint64_t kValidates = 5;
constexpr std::uint64_t kDiesValidating = 14;
constexpr std::uint64_t kDiesBetween = 22;
constexpr std::int64_t kSamples = 480;
constexpr std::int64_t kWidth = 12;

struct NetImpl : torch::nn::Module {
  torch::Tensor forward(const torch::Tensor& x) {
    return last->forward(dropout->forward(torch::relu(norm->forward(first->forward(x)))));
  }
  torch::nn::Linear first = register_module("first", torch::nn::Linear(kWidth, 16));
  torch::nn::BatchNorm1d norm = register_module("norm", torch::nn::BatchNorm1d(16));
  torch::nn::Dropout dropout = register_module("dropout", torch::nn::Dropout(0.3));
  torch::nn::Linear last = register_module("last", torch::nn::Linear(16, 1));
};
TORCH_MODULE(Net);

// A net for each optimizer, in one module, so that all are averaged together.
struct Nets : torch::nn::Module {
  Nets() {
    for (int i = 0; i < 5; ++i) nets->push_back(Net());
    register_module("nets", nets);
    for (const auto& net : *nets) all.push_back(std::dynamic_pointer_cast<NetImpl>(net));
    optimizers.push_back(
        std::make_unique<optim::SGD>(all[0]->parameters(), optim::SGDOptions(0.05).momentum(0.9)));
    optimizers.push_back(std::make_unique<optim::Adam>(all[1]->parameters(), optim::AdamOptions(0.01)));
    optimizers.push_back(
        std::make_unique<optim::AdamW>(all[2]->parameters(), optim::AdamWOptions(0.01).amsgrad(true)));
    optimizers.push_back(std::make_unique<optim::Adagrad>(all[3]->parameters(), optim::AdagradOptions(0.05)));
    optimizers.push_back(
        std::make_unique<optim::RMSprop>(all[4]->parameters(), optim::RMSpropOptions(0.01).momentum(0.5)));
  }
  torch::Tensor loss(const torch::Tensor& x, const torch::Tensor& y) {
    auto sum = torch::zeros({});
    for (const auto& net : all) sum = sum + torch::nn::functional::mse_loss(net->forward(x), y);
    return sum;
  }
  torch::nn::ModuleList nets;
  std::vector<std::shared_ptr<NetImpl>> all;
  std::vector<std::unique_ptr<optim::Optimizer>> optimizers;
};

struct Data {
  torch::Tensor x, y;
};

Data make_data() {
  auto generator = at::make_generator<at::CPUGeneratorImpl>(11);
  const auto x = torch::randn({kSamples, kWidth}, generator);
  return {x, torch::sin(x.sum(1, true))};
}

enum class Place { kBetweenBackwards, kBetweenOptimizers, kValidating, kAtTheEnd };

// The place where a rank dies in an attempt that began at `first`.
struct Death {
  std::uint64_t attempt = 0;
  std::uint32_t rank = 0;
  std::uint64_t step = 0;
  Place place{};

  friend bool operator==(const Death&, const Death&) = default;
};
using Deaths =
    std::function<std::optional<Death>(std::uint64_t attempt, std::uint64_t first, std::uint32_t ranks)>;

std::optional<Death> two_deaths(std::uint64_t attempt, std::uint64_t, std::uint32_t ranks) {
  if (attempt == 1)
    return Death{.attempt = 1, .rank = ranks - 1, .step = kDiesValidating, .place = Place::kValidating};
  if (attempt == 2) return Death{.attempt = 2, .step = kDiesBetween, .place = Place::kBetweenBackwards};
  return std::nullopt;
}

// Within the first nine steps of the attempt, of which some are saved.
Deaths deaths_by_chance(std::uint64_t seed, std::uint64_t count) {
  return [=](std::uint64_t attempt, std::uint64_t first, std::uint32_t ranks) -> std::optional<Death> {
    if (attempt > count) return std::nullopt;
    std::seed_seq words{seed, attempt};
    std::mt19937 chance(words);
    constexpr std::array kPlaces = {Place::kBetweenBackwards, Place::kBetweenOptimizers, Place::kAtTheEnd};
    Death death{.attempt = attempt, .rank = static_cast<std::uint32_t>(chance() % ranks)};
    death.step = first + chance() % std::min<std::uint64_t>(9, std::max<std::uint64_t>(1, kSteps - first));
    death.place = kPlaces[chance() % kPlaces.size()];
    return death;
  };
}

// Of an attempt. A rank that is killed after its second step, in which the save that was requested in the
// first takes effect, leaves a checkpoint, so that the next attempt has to resume.
class Fate {
 public:
  Fate(ratoon::Session& session, const Deaths& deaths) : session_(session), deaths_(deaths) {}
  void begin(std::uint64_t step) {
    if (first_) return;
    first_ = step;
    first_save_ = session_.save();
    death_ = deaths_(session_.attempt(), step, session_.world_size());
  }
  void pass(Place place, std::uint64_t step) const {
    const Death here{.attempt = session_.attempt(), .rank = session_.rank(), .step = step, .place = place};
    if (death_ != here) return;
    if (first_ && *first_ + 1 < step) static_cast<void>(first_save_.wait(ratoon::SaveLevel::kCommitted, 60s));
    static_cast<void>(std::raise(SIGKILL));
  }

 private:
  ratoon::Session& session_;
  const Deaths& deaths_;
  std::optional<std::uint64_t> first_;
  ratoon::SaveTicket first_save_;
  std::optional<Death> death_;
};

void train(ratoon::Session& session, const Data& data, const Deaths& deaths) {
  Nets nets;
  torch::nn::Linear slow(kWidth, 1);  // of LBFGS, which looks at all samples, on each rank the same
  optim::LBFGS lbfgs(slow->parameters(), optim::LBFGSOptions(0.3).max_iter(3));
  optim::StepLR steps(*nets.optimizers[0], 7, 0.5);
  optim::ReduceLROnPlateauScheduler plateau(*nets.optimizers[1], optim::ReduceLROnPlateauScheduler::min, 0.5F,
                                            2);
  ratoon::Stream stream({.samples = kSamples, .global_batch = 32, .seed = session.seed()});
  auto noise = at::make_generator<at::CPUGeneratorImpl>();
  torch::manual_seed(session.seed_of("dropout"));
  session.track("nets", nets);
  const char* const names[] = {"SGD", "Adam", "AdamW", "Adagrad", "RMSprop"};
  for (std::size_t i = 0; i < nets.optimizers.size(); ++i) session.track(names[i], *nets.optimizers[i]);
  session.track("slow", *slow);
  session.track("LBFGS", lbfgs);
  session.track("steps", steps);
  session.track("plateau", plateau);
  session.track("stream", stream);
  session.track("noise", noise);
  Fate fate(session, deaths);

  for (const std::uint64_t step : session.steps(kSteps)) {
    fate.begin(step);
    const auto index = ratoon::torch::index(stream.take(session.rank(), session.world_size()));
    auto x = data.x.index_select(0, index);
    x = x + 0.1 * torch::randn(x.sizes(), noise);
    const auto y = data.y.index_select(0, index);
    const auto half = index.numel() / 2;
    nets.zero_grad();
    (nets.loss(x.narrow(0, 0, half), y.narrow(0, 0, half)) / 2).backward();
    fate.pass(Place::kBetweenBackwards, step);
    const auto loss = nets.loss(x.narrow(0, half, half), y.narrow(0, half, half)) / 2;
    session.report("loss", loss.item<double>());
    session.average_gradients(nets, {.backward = [&] { loss.backward(); }});
    torch::nn::utils::clip_grad_norm_(nets.parameters(), 5.0);
    for (const auto& optimizer : nets.optimizers) {
      optimizer->step();
      fate.pass(Place::kBetweenOptimizers, step);
    }
    const auto far = lbfgs.step([&] {
      lbfgs.zero_grad();
      auto whole = torch::nn::functional::mse_loss(slow->forward(data.x), data.y);
      whole.backward();
      return whole;
    });
    steps.step();
    plateau.step(far.item<float>());
    if ((step + 1) % kValidates == 0) {
      const auto validates = session.in(ratoon::Phase::kValidation);
      const torch::NoGradGuard no_grad;
      nets.eval();
      const auto validated = nets.loss(data.x, data.y);
      fate.pass(Place::kValidating, step);
      if (session.rank() == 0) session.report("validation", validated.item<double>());
      nets.train();
    }
    std::printf("attempt %u rank %u step %u loss %a\n", static_cast<unsigned>(session.attempt()),
                session.rank(), static_cast<unsigned>(step), loss.item<double>());
    std::fflush(stdout);
    fate.pass(Place::kAtTheEnd, step);
  }
  std::printf("weights %s\n", (ratoon::digest(nets).value() + ratoon::digest(*slow).value()).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  Deaths deaths = [](auto...) { return std::nullopt; };
  if (argc > 1 && std::string_view(argv[1]) == "kill") deaths = two_deaths;
  if (argc > 3)
    deaths = deaths_by_chance(std::strtoull(argv[2], nullptr, 10), std::strtoull(argv[3], nullptr, 10));
  torch::set_num_threads(1);
  const Data data = make_data();
  return ratoon::train(ratoon::Options::from_environment(argc, argv),
                       [&](ratoon::Session& session) { train(session, data, deaths); });
}
