#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include <ATen/ops/_amp_foreach_non_finite_check_and_unscale.h>
#include <ATen/ops/full.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <torch/optim/optimizer.h>

#include <ratoon/failure.h>
#include <ratoon/torch/loss_scaler.h>

#include "base/contract/exit_code.h"

namespace ratoon::torch {
namespace {

[[noreturn]] void refuse_call(const std::string& sentence) {
  throw Failure(static_cast<int>(ExitCode::kConfiguration), "LossScaler: " + sentence);
}

// Returns the tensor that holds the values of a parameter's gradient, dense or sparse. A sparse gradient in
// half precision is coalesced first, because it may have several values for one element.
at::Tensor gradient_values_of(const at::Tensor& parameter) {
  at::Tensor& gradient = parameter.mutable_grad();
  if (!gradient.is_sparse()) return gradient;
  if (gradient.scalar_type() == at::kHalf) gradient = gradient.coalesce();
  return gradient._values();
}

// Divides the gradients by the scale, and makes `found` other than 0 if one of them is not finite.
void unscale_same_type(const std::vector<at::Tensor>& values, at::Tensor& found, float inverse) {
  if (values[0].scalar_type() != at::kBFloat16 || values[0].is_cpu()) {
    at::_amp_foreach_non_finite_check_and_unscale_(values, found, at::full({1}, inverse, found.options()));
    return;
  }
  // CUDA's kernel for all gradients together does not take bf16.
  for (const at::Tensor& value : values) {
    found.add_(value.isfinite().all().logical_not());
    value.mul_(inverse);
  }
}

// Returns whether all gradients were finite, or nullopt if there is no gradient. The host waits only once for
// each device, not once for each gradient.
std::optional<bool> unscale_gradients(::torch::optim::Optimizer& optimizer, float scale) {
  const c10::AutoGradMode no_grad(false);
  const auto inverse = static_cast<float>(1 / static_cast<double>(scale));
  std::map<std::tuple<c10::DeviceType, c10::DeviceIndex, at::ScalarType>, std::vector<at::Tensor>> alike;
  std::set<const void*> done;
  for (auto& group : optimizer.param_groups()) {
    for (const at::Tensor& parameter : group.params()) {
      if (!parameter.grad().defined() || !done.insert(parameter.unsafeGetTensorImpl()).second) continue;
      const at::Tensor values = gradient_values_of(parameter);
      alike[{values.device().type(), values.device().index(), values.scalar_type()}].push_back(values);
    }
  }
  std::vector<at::Tensor> found;
  for (const auto& [kind, values] : alike) {
    const auto like = at::TensorOptions(at::kFloat).device(values[0].device());
    if (found.empty() || found.back().device() != values[0].device()) found.push_back(at::zeros({1}, like));
    unscale_same_type(values, found.back(), inverse);
  }
  if (found.empty()) return std::nullopt;
  return std::ranges::all_of(found, [](const at::Tensor& of_device) { return of_device.item<float>() == 0; });
}

}  // namespace

LossScaler::LossScaler(LossScalerOptions options)
    : options_(options), scale_(static_cast<float>(options.first)) {
  if (!(options.growth > 1) || !(options.backoff < 1) || options.growth_interval == 0)
    throw std::invalid_argument(
        "LossScaler takes a growth over 1, a backoff under 1 and a growth_interval of at least 1, found " +
        std::to_string(options.growth) + ", " + std::to_string(options.backoff) + " and " +
        std::to_string(options.growth_interval));
}

at::Tensor LossScaler::scale(const at::Tensor& loss) const {
  return at::mul(loss, scale_);
}

void LossScaler::unscale(::torch::optim::Optimizer& optimizer) {
  Turn& turn = optimizer_states_[&optimizer];
  if (turn.stage == Stage::kUnscaled)
    refuse_call(
        "unscale() was called twice for an optimizer: call it once a step, and update() at the end of each "
        "step, even if step() is left out");
  if (turn.stage == Stage::kStepped)
    refuse_call("unscale() was called after step(): call it first, and update() at the end of each step");
  turn.is_finite = unscale_gradients(optimizer, scale_);
  turn.stage = Stage::kUnscaled;
}

bool LossScaler::step(::torch::optim::Optimizer& optimizer) {
  Turn& turn = optimizer_states_[&optimizer];
  if (turn.stage == Stage::kStepped)
    refuse_call(
        "step() was called twice for an optimizer: call update() at the end of each step, once for "
        "all optimizers");
  if (turn.stage == Stage::kReady) unscale(optimizer);
  if (!turn.is_finite)
    refuse_call(
        "step() was called for an optimizer none of whose parameters has a gradient: call backward() before, "
        "or do not call step()");
  if (*turn.is_finite) optimizer.step();
  turn.stage = Stage::kStepped;
  return *turn.is_finite;
}

void LossScaler::update() {
  std::optional<bool> is_finite;
  for (const auto& [optimizer, turn] : optimizer_states_)
    if (turn.is_finite) is_finite = is_finite.value_or(true) && *turn.is_finite;
  if (!is_finite)
    refuse_call(
        "update() was called in a step in which no gradient was unscaled: call step() or unscale() before "
        "update(), or leave out update()");
  if (!*is_finite) {
    scale_ = static_cast<float>(scale_ * options_.backoff);
    good_steps_ = 0;
  } else if (++good_steps_ >= options_.growth_interval) {
    const auto larger = static_cast<float>(scale_ * options_.growth);
    if (std::isfinite(larger)) scale_ = larger;
    good_steps_ = 0;
  }
  optimizer_states_.clear();
}

}  // namespace ratoon::torch
