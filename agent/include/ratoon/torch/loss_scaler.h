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
//     scaler.update();
//   }
//
// A step whose gradients are not all finite is left out, and the scale gets smaller; after many good ones it
// gets larger. Averaged gradients are the same on all ranks, so all leave out the same steps. The session
// counts such a step like any other: its samples were taken.
//
// Of several optimizers each is unscaled and stepped by itself, and one update() is for all of them. A
// parameter that an optimizer has twice (tied weights) is unscaled once. Gradients in half precision, which
// GradScaler refuses, are taken.
//
// Throws Failure with exit code 82 where GradScaler raises: unscale() or step() twice without an update()
// between them, unscale() after step(), step() without any gradient, update() without an unscale() or step().
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
  double first = 65536;                  // a power of two, as the factors should be: then nothing is rounded
  double growth = 2;                     // over 1
  double backoff = 0.5;                  // under 1
  std::uint64_t growth_interval = 2000;  // good steps, at least one
};

class LossScaler {
 public:
  // Throws std::invalid_argument if an option is not as its comment says.
  explicit LossScaler(LossScalerOptions options = {});

  [[nodiscard]] at::Tensor scale(const at::Tensor& loss) const;
  // The optimizer's gradients as they would be without a scale; once a step, after they were averaged.
  void unscale(::torch::optim::Optimizer& optimizer);
  // Does that if it was not done, and takes the optimizer's step. False: it was left out.
  bool step(::torch::optim::Optimizer& optimizer);
  // Ends a step: the next one's scale.
  void update();

  [[nodiscard]] double current() const { return scale_; }

 private:
  friend struct TrackAdapter<LossScaler>;
  enum class Stage { kReady, kUnscaled, kStepped };
  struct Turn {
    Stage stage = Stage::kReady;
    std::optional<bool> is_finite{};  // none: it had no gradient
  };

  LossScalerOptions options_;
  float scale_;                                             // as GradScaler has it
  std::uint64_t good_steps_ = 0;                            // since the scale changed
  std::map<const ::torch::optim::Optimizer*, Turn> turns_;  // since the last update()
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
      scaler.turns_.clear();
    });
  }
};
