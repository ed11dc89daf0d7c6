// A trainer for digits_run_test.py with known gradients, so that their mean is known.
//
//   average_probe MODE   whole: whole numbers, whose sums are exact; real: any numbers; small: few of them;
//                        other-weights: rank 2 makes another model; other-second: another second model;
//                        drifts: rank 2 changes a weight alone;
//                        resumes-apart: the same after a loss, before the first mean
#include <chrono>
#include <csignal>
#include <cstdio>
#include <string_view>

#include <torch/nn/module.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <ratoon/torch.h>

#include "tests/torch/end_together.h"

namespace {

constexpr std::uint64_t kSteps = 12;
constexpr std::uint64_t kDrifts = 5;
constexpr std::uint64_t kDies = 6;

struct Model : torch::nn::Module {
  // Frozen parameters may differ between ranks.
  Model(std::int64_t size, std::uint32_t rank)
      : large(register_parameter("large", torch::randn({size}))),
        frozen(register_parameter("frozen", torch::full({2}, static_cast<double>(rank)), false)) {}
  torch::Tensor small = register_parameter("small", torch::randn({3, 5}));
  torch::Tensor precise = register_parameter("precise", torch::randn({7}, torch::kDouble));
  torch::Tensor partly = register_parameter("partly", torch::randn({11}));
  torch::Tensor large;
  torch::Tensor frozen;
  torch::Tensor never = register_parameter("never", torch::randn({2}));
};

[[noreturn]] void fail(const std::string& sentence) {
  throw std::runtime_error(sentence);
}

void expect(const torch::Tensor& gradient, double value, const char* name) {
  if (!gradient.defined() || !gradient.equal(torch::full_like(gradient, value)))
    fail(std::string("the mean of '") + name + "' is not " + std::to_string(value));
}

void set(torch::Tensor& parameter, const torch::Tensor& gradient) {
  parameter.mutable_grad() = gradient.to(parameter.scalar_type()).expand_as(parameter).clone();
}

// Rank r has three times r + step, so the mean of three ranks is three times step + 1, and a third of it is a
// whole number.
void average_whole(ratoon::Session& session, Model& model, std::uint64_t step) {
  const auto mine = torch::tensor(3.0 * static_cast<double>(session.rank() + step));
  for (auto* parameter : {&model.small, &model.large, &model.precise}) set(*parameter, mine);
  model.partly.mutable_grad().reset();
  if (session.rank() == 1) set(model.partly, torch::tensor(6.0));
  session.average_gradients(model);
  const double mean = 3.0 * (static_cast<double>(step) + (session.world_size() - 1) / 2.0);
  expect(model.small.grad(), mean, "small");
  expect(model.large.grad(), mean, "large");
  expect(model.precise.grad(), mean, "precise");
  expect(model.partly.grad(), 6.0 / session.world_size(), "partly");
  if (model.never.grad().defined()) fail("'never' has a gradient that no rank gave it");
}

void average_real(ratoon::Session& session, Model& model) {
  for (auto* parameter : {&model.small, &model.large, &model.precise})
    parameter->mutable_grad() = torch::randn_like(*parameter);
  session.average_gradients(model);
  const ratoon::NamedTensor gradients[] = {
      {"small", model.small.grad()}, {"large", model.large.grad()}, {"precise", model.precise.grad()}};
  std::printf("gradients %s\n", ratoon::digest(gradients).value().c_str());
}

void change(Model& model) {
  const torch::NoGradGuard no_gradients;
  model.small.add_(1);
}

// The rank ends after a checkpoint, from which the next attempt resumes.
void die_after_a_save(ratoon::Session& session, std::uint64_t step, ratoon::SaveTicket& ticket) {
  if (session.attempt() != 1) return;
  if (step == 0) ticket = session.save();
  if (step != kDies || session.rank() != 1) return;
  static_cast<void>(ticket.wait(ratoon::SaveLevel::kCommitted, std::chrono::seconds(60)));
  static_cast<void>(std::raise(SIGKILL));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  torch::set_num_threads(1);
  const auto options = ratoon::Options::from_environment(argc, argv);
  std::uint32_t rank = 0;
  std::uint32_t world_size = 1;
  const int code = ratoon::train(options, [&](ratoon::Session& session) {
    rank = session.rank();
    world_size = session.world_size();
    torch::manual_seed(mode == "other-weights" ? session.rank() / 2 : 1);
    Model model(mode == "small" ? 1000 : 3 << 20, session.rank());
    if (mode == "other-second") torch::manual_seed(session.rank() / 2);
    Model second(10, session.rank());
    torch::manual_seed(100 + session.rank());
    ratoon::SaveTicket ticket;
    for (const std::uint64_t step : session.steps(kSteps)) {
      if (mode == "drifts" && session.rank() == 2 && step == kDrifts) change(model);
      if (mode == "resumes-apart") {
        die_after_a_save(session, step, ticket);
        if (session.attempt() == 2 && session.rank() == 2) change(model);
      }
      const auto start = std::chrono::steady_clock::now();
      if (mode == "real") {
        average_real(session, model);
      } else {
        average_whole(session, model, step);
        if (mode == "other-second") session.average_gradients(second);
      }
      const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
      std::printf("rank %u step %d averaged in %.2f ms\n", session.rank(), static_cast<int>(step),
                  spent.count());
    }
    std::printf("all as expected\n");
  });
  return ratoon::test::end_together(code, options ? options->save_folder : "", rank, world_size);
}
