// LossScaler: makes gradients in half precision large enough to be numbers, as PyTorch's GradScaler does.
//
//   ratoon::torch::LossScaler scaler;
//   session.track("scaler", scaler);
//   for (const std::uint64_t step : session.steps(1000)) {
//     optimizer.zero_grad();
//     scaler.scale(loss_of(batch)).backward();
//     session.average_gradients(*net);
//     scaler.unscale(optimizer);  // only where gradients are looked at before the step
//     torch::nn::utils::clip_grad_norm_(net->parameters(), 1.0);
//     scaler.step(optimizer);
//   }
//
// A step whose gradients are not all finite is left out, and the scale gets smaller; after many good ones it
// gets larger. Averaged gradients are the same on all ranks, so all leave out the same steps. The session
// counts such a step like any other: its samples were taken.
#pragma once

#include <cstdint>
#include <optional>

#include <ATen/core/Tensor.h>

#include <ratoon/session.h>

namespace torch::optim {
class Optimizer;
}

namespace ratoon::torch {

struct LossScalerOptions {
  double first = 65536;  // a power of two, as the factors should be: then nothing is rounded
  double growth = 2;
  double backoff = 0.5;
  std::uint64_t growth_interval = 2000;  // good steps
};

class LossScaler {
 public:
  explicit LossScaler(LossScalerOptions options = {}) : options_(options), scale_(options.first) {}

  [[nodiscard]] at::Tensor scale(const at::Tensor& loss) const;
  // The gradients as they would be without a scale; once a step, after they were averaged.
  void unscale(::torch::optim::Optimizer& optimizer);
  // Does that if it was not done, and takes the optimizer's step. False: it was left out.
  bool step(::torch::optim::Optimizer& optimizer);

  [[nodiscard]] double current() const { return scale_; }

 private:
  friend struct TrackAdapter<LossScaler>;
  LossScalerOptions options_;
  double scale_;
  std::uint64_t good_steps_ = 0;          // since the scale changed
  std::optional<bool> is_step_finite_{};  // of the step under way, when its gradients are unscaled
};

}  // namespace ratoon::torch

template <>
struct ratoon::TrackAdapter<ratoon::torch::LossScaler> {
  static void check(torch::LossScaler&, const std::string&) {}
  static void save(torch::LossScaler& scaler, StateWriter& out) {
    out.number("scale", scaler.scale_);
    out.number("good_steps", scaler.good_steps_);
  }
  static void load(torch::LossScaler& scaler, StateReader& in) {
    in.number("scale", scaler.scale_);
    in.number("good_steps", scaler.good_steps_);
  }
};
