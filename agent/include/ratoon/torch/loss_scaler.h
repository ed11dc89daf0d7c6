// LossScaler: scales the loss so that gradients in half precision do not underflow, as PyTorch's GradScaler
// does.
//
//   ratoon::torch::LossScaler scaler;
//   session.track("scaler", scaler);
//   for (const std::uint64_t step : session.steps(1000)) {
//     optimizer.zero_grad();
//     scaler.scale(loss_of(batch)).backward();
//     session.average_gradients(*net);
//     scaler.unscale(optimizer);  // only if gradients are read before the step
//     torch::nn::utils::clip_grad_norm_(net->parameters(), 1.0);
//     scaler.step(optimizer);
//     scaler.update();
//   }
//
// A step whose gradients are not all finite is skipped, and the scale decreases. After `growth_interval`
// steps with finite gradients, the scale increases. The averaged gradients are equal on all ranks, so all
// ranks skip the same steps. The session counts a skipped step like any other step, because the step used its
// samples.
//
// With several optimizers, call unscale() and step() for each optimizer, then update() once. The gradient of
// a parameter that an optimizer lists twice (tied weights) is divided by the scale only once. Gradients in
// half precision, which GradScaler refuses, are supported.
//
// Calls in a wrong order, for which GradScaler raises an exception, throw Failure with exit code 82: two
// unscale() or step() without an update() between them, unscale() after step(), step() without any gradient,
// update() without an unscale() or step().
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include <ATen/core/Tensor.h>

#include <ratoon/session.h>

namespace torch::optim {
class Optimizer;
}

namespace ratoon::torch {

struct LossScalerOptions {
  // The first scale. Use powers of two for the scale and the factors, because a multiplication by a power of
  // two is exact.
  double first = 65536;
  double growth = 2;                     // the factor after good steps, above 1
  double backoff = 0.5;                  // the factor after a skipped step, below 1
  std::uint64_t growth_interval = 2000;  // good steps before the scale grows, at least one
};

class LossScaler {
 public:
  // Throws std::invalid_argument if an option is outside the range that LossScalerOptions states.
  explicit LossScaler(LossScalerOptions options = {});

  [[nodiscard]] at::Tensor scale(const at::Tensor& loss) const;
  // Divides the optimizer's gradients by the scale. Call unscale() at most once a step, after
  // average_gradients().
  void unscale(::torch::optim::Optimizer& optimizer);
  // Calls unscale() if the program did not, and then the optimizer's step(). Returns false if the step was
  // skipped.
  bool step(::torch::optim::Optimizer& optimizer);
  // update() ends a step and sets the scale of the next step.
  void update();

  [[nodiscard]] double current() const { return scale_; }

 private:
  friend struct TrackAdapter<LossScaler>;
  enum class Stage { kReady, kUnscaled, kStepped };
  struct Turn {
    Stage stage = Stage::kReady;
    std::optional<bool> is_finite{};  // nothing: the optimizer had no gradient
  };

  LossScalerOptions options_;
  float scale_;                                                        // a float, as in GradScaler
  std::uint64_t good_steps_ = 0;                                       // since the scale changed
  std::map<const ::torch::optim::Optimizer*, Turn> optimizer_states_;  // since the last update()
};

}  // namespace ratoon::torch

template <>
struct ratoon::TrackAdapter<ratoon::torch::LossScaler> {
  static void check(torch::LossScaler&, const std::string&) {}
  static void save(torch::LossScaler& scaler, StateWriter& out) {
    out.number("scale", scaler.current());
    out.number("good_steps", scaler.good_steps_);
  }
  static void load(torch::LossScaler& scaler, StateReader& in) {
    auto scale = std::make_shared<double>();
    in.number("scale", *scale);
    in.number("good_steps", scaler.good_steps_);
    in.at_end([&scaler, scale] {
      scaler.scale_ = static_cast<float>(*scale);
      scaler.optimizer_states_.clear();
    });
  }
};
