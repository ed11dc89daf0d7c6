#include <cmath>
#include <utility>

#include <ATen/ops/_amp_foreach_non_finite_check_and_unscale.h>
#include <ATen/ops/full.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/zeros.h>
#include <torch/optim/optimizer.h>

#include <ratoon/torch/loss_scaler.h>

namespace ratoon::torch {

at::Tensor LossScaler::scale(const at::Tensor& loss) const {
  return at::mul(loss, scale_);
}

void LossScaler::unscale(::torch::optim::Optimizer& optimizer) {
  if (is_step_finite_) return;
  bool is_finite = true;
  for (auto& group : optimizer.param_groups()) {
    for (at::Tensor& parameter : group.params()) {
      const at::Tensor& gradient = parameter.grad();
      if (!gradient.defined()) continue;
      const auto like = at::TensorOptions(at::kFloat).device(gradient.device());
      at::Tensor found = at::zeros({1}, like);
      at::_amp_foreach_non_finite_check_and_unscale_({gradient}, found, at::full({1}, 1 / scale_, like));
      is_finite = is_finite && found.item<float>() == 0;
    }
  }
  is_step_finite_ = is_finite;
}

bool LossScaler::step(::torch::optim::Optimizer& optimizer) {
  unscale(optimizer);
  const bool is_finite = *std::exchange(is_step_finite_, std::nullopt);
  if (is_finite) {
    optimizer.step();
    if (++good_steps_ < options_.growth_interval) return true;
  }
  const double scale = scale_ * (is_finite ? options_.growth : options_.backoff);
  if (std::isfinite(static_cast<float>(scale))) scale_ = scale;  // the factor is applied in single precision
  good_steps_ = 0;
  return is_finite;
}

}  // namespace ratoon::torch
