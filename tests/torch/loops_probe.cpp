// A trainer for loops_test.py with a loop as people write it: epochs with code at their ends, a short last
// batch of which some ranks have no sample, two optimizers, a number of optimizer steps that depends on the
// data, accumulation, a list of modules and tensors of which a step uses a part, work of a single rank, an
// optimizer that is made anew in each epoch, and a learning rate that is a number of the program.
#include <cmath>
#include <cstdio>
#include <memory>

#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/utils/clip_grad.h>
#include <torch/optim/adam.h>
#include <torch/optim/schedulers/step_lr.h>
#include <torch/optim/sgd.h>
#include <torch/types.h>

#include <ratoon/session/epochs.h>
#include <ratoon/torch.h>

#include "examples/digits/flags.h"
#include "examples/digits/net.h"

namespace {

constexpr std::int64_t kSamples = 20;
constexpr std::uint64_t kBatch = 6;  // the last batch of an epoch has two samples
constexpr double kGoodEnough = 0.9;  // a loss of the critic that needs no second step

// The samples of a batch that this rank trains; for ratoon::Epoch::batches().
struct Loader {
  struct Batch {
    at::Tensor index{};  // empty if the rank has no sample
  };
  [[nodiscard]] Batch next() const {
    std::vector<std::int64_t> samples;
    const auto share = ratoon::share_of(stream.next_batch(), rank, world_size);
    for (auto slot = share.first; slot < share.last; ++slot)
      samples.push_back(static_cast<std::int64_t>(stream.at(slot).sample));
    return {torch::tensor(samples, torch::kLong)};
  }
  void advance(const Batch& /*batch*/) const { stream.advance(); }

  ratoon::Stream& stream;
  std::uint32_t rank;
  std::uint32_t world_size;
};

struct Model : torch::nn::Module {
  torch::nn::Linear body = register_module("body", torch::nn::Linear(4, 16));
  torch::nn::Linear critic = register_module("critic", torch::nn::Linear(16, 1));
  torch::nn::Linear actor = register_module("actor", torch::nn::Linear(16, 2));
  torch::nn::Linear extra = register_module("extra", torch::nn::Linear(16, 1));
  torch::Tensor log_temperature = register_parameter("log_temperature", torch::zeros({1}));
};

class Trainer {
 public:
  explicit Trainer(ratoon::Session& session) : session_(session) {
    session.track("model", model_);
    session.track("critic optimizer", critic_optimizer_);
    session.track("actor optimizer", actor_optimizer_);
    session.track("schedule", schedule_);
    session.track("best", best_);
    session.track("steps of the critic", critic_steps_);
    session.track("optimizer of the extra layer", extra_optimizer_);
    session.track("rate of the extra layer", extra_rate_);
    session.on_epoch_begin([this](std::uint64_t) { extra_optimizer_ = make_extra_optimizer(); });
  }

  // Returns the mean loss of the critic over all ranks.
  double train_batch(const at::Tensor& index, std::uint64_t step) {
    double loss = 1;
    for (int again = 0; again < 3 && loss > kGoodEnough; ++again) loss = train_critic(index);
    if (step % 2 == 1) train_actor(index);
    if (step % 3 == 2) train_extra(step);
    return loss;
  }
  void end_epoch() {
    schedule_.step();
    const torch::NoGradGuard no_gradients;
    double sum = 0;
    for (std::int64_t i = session_.rank(); i < kSamples; i += session_.world_size())
      sum += loss_of_critic(torch::tensor({i})).item<double>();
    best_ = std::min(best_, session_.sum(sum) / kSamples);
  }
  void report(const Flags& flags) const {
    std::printf("weights and the critic's %llu steps, best %a\n",
                static_cast<unsigned long long>(critic_steps_), best_);
    report_weights(model_, flags.out);
  }

 private:
  [[nodiscard]] torch::Tensor middle_of(const at::Tensor& index) {
    return torch::tanh(model_.body->forward(inputs_.index_select(0, index)));
  }
  [[nodiscard]] torch::Tensor loss_of_critic(const at::Tensor& index) {
    return torch::nn::functional::mse_loss(model_.critic->forward(middle_of(index)),
                                           targets_.index_select(0, index));
  }
  [[nodiscard]] torch::Tensor loss_of_actor(const at::Tensor& index) {
    const auto chosen = torch::softmax(model_.actor->forward(middle_of(index)), 1).select(1, 0);
    const auto value = model_.critic->forward(middle_of(index)).squeeze(1);
    return -(chosen * value).mean() + model_.log_temperature.exp().sum() * (chosen.mean() - 0.3);
  }

  // The list is the same in each call. The actor is in it, and has no gradient here.
  double train_critic(const at::Tensor& index) {
    critic_optimizer_.zero_grad();
    actor_optimizer_.zero_grad();
    ratoon::Averaging how{.samples = static_cast<std::uint64_t>(index.numel())};
    torch::Tensor loss;
    if (index.numel() > 0) {
      loss = loss_of_critic(index);
      how.backward = [&] { loss.backward(); };
    }
    session_.average_gradients(all_, how);
    if (model_.actor->weight.grad().defined()) throw std::logic_error("no rank trained the actor");
    critic_optimizer_.step();
    ++critic_steps_;
    return session_.mean("critic loss", loss.defined() ? loss.item<double>() : 0, *how.samples);
  }
  // The gradients of two halves are accumulated, and those of the critic are left out.
  void train_actor(const at::Tensor& index) {
    actor_optimizer_.zero_grad();
    ratoon::Averaging how{.samples = static_cast<std::uint64_t>(index.numel())};
    torch::Tensor last;
    if (index.numel() > 0) {
      const auto halves = index.chunk(2);
      if (halves.size() == 2) loss_of_actor(halves[0]).backward();
      last = loss_of_actor(halves.back());
      how.backward = [&] { last.backward(); };
    }
    session_.average_gradients(ratoon::torch::Modules{{*model_.actor}, {model_.log_temperature}}, how);
    torch::nn::utils::clip_grad_norm_(model_.actor->parameters(), 0.5);
    actor_optimizer_.step();
  }
  // One rank has a loss of its own, in another step another rank.
  void train_extra(std::uint64_t step) {
    model_.extra->zero_grad();
    if (step % session_.world_size() == session_.rank())
      model_.extra->forward(torch::randn({1, 16})).square().sum().backward();
    session_.average_gradients(model_.extra->parameters());
    extra_rate_ *= 0.99;
    for (auto& group : extra_optimizer_->param_groups()) group.options().set_lr(extra_rate_);
    extra_optimizer_->step();
  }
  [[nodiscard]] std::unique_ptr<torch::optim::SGD> make_extra_optimizer() const {
    return std::make_unique<torch::optim::SGD>(model_.extra->parameters(),
                                               torch::optim::SGDOptions(extra_rate_).momentum(0.9));
  }

  ratoon::Session& session_;
  torch::Tensor inputs_ = torch::randn({kSamples, 4});
  torch::Tensor targets_ = inputs_.square().sum(1, true);
  Model model_;
  const ratoon::torch::Modules all_{{*model_.critic, *model_.actor, *model_.body}, {model_.log_temperature}};
  torch::optim::SGD critic_optimizer_{
      std::vector<torch::optim::OptimizerParamGroup>{model_.body->parameters(), model_.critic->parameters()},
      torch::optim::SGDOptions(0.02).momentum(0.9)};
  torch::optim::Adam actor_optimizer_{std::vector<torch::optim::OptimizerParamGroup>{
                                          model_.actor->parameters(), std::vector{model_.log_temperature}},
                                      torch::optim::AdamOptions(1e-2)};
  torch::optim::StepLR schedule_{critic_optimizer_, 2, 0.9};
  double extra_rate_ = 0.05;
  std::unique_ptr<torch::optim::SGD> extra_optimizer_ = make_extra_optimizer();
  double best_ = INFINITY;
  std::uint64_t critic_steps_ = 0;
};

void train(ratoon::Session& session, const Flags& flags) {
  torch::manual_seed(flags.seed);
  Trainer trainer(session);
  torch::manual_seed(session.seed_of("extra"));
  ratoon::Stream stream(session.stream_options(
      {.samples = kSamples, .global_batch = kBatch, .epoch_end = ratoon::EpochEnd::kShort}));
  session.track("stream", stream);
  Loader loader{stream, session.rank(), session.world_size()};
  for (const auto& epoch : ratoon::epochs(session, stream, flags.epochs)) {
    for (auto& batch : epoch.batches(loader)) {
      const std::uint64_t step = stream.batches();
      const double loss = trainer.train_batch(batch.index, step);
      say_step(flags, step, loss, session.rank(), session.attempt());
    }
    trainer.end_epoch();
  }
  trainer.report(flags);
}

}  // namespace

int main(int argc, char** argv) {
  const Flags flags = read_flags(argc, argv);
  torch::set_num_threads(flags.threads);
  return ratoon::train(ratoon::Options::from_environment(argc, argv), [&](auto& run) { train(run, flags); });
}
