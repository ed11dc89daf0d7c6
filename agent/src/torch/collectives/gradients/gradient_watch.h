// While a GradientWatch exists, it calls `on_gradient` for each parameter whose gradient a backward() call
// has accumulated.
//
//   const GradientWatch watch(parameters, [&](std::size_t parameter) { is_ready[parameter] = true; });
//   loss.backward();
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

namespace torch::autograd {
struct Node;
}

namespace ratoon {

class GradientWatch {
 public:
  // `on_gradient` is called on the thread that accumulates the gradient. Two calls of `on_gradient` never run
  // at the same time.
  GradientWatch(const std::vector<at::Tensor>& parameters, std::function<void(std::size_t)> on_gradient);
  ~GradientWatch();
  GradientWatch(const GradientWatch&) = delete;
  GradientWatch& operator=(const GradientWatch&) = delete;

  // Calls `backward`. Rethrows an exception of `on_gradient` unchanged, because LibTorch's threads pass on
  // only exceptions that derive from std::exception.
  void run_backward(const std::function<void()>& backward) const;

 private:
  struct Listener;
  class AccumulationHook;
  struct Hook {
    std::shared_ptr<::torch::autograd::Node> node;
    std::uintptr_t key = 0;
  };
  const std::shared_ptr<Listener> listener_;
  std::vector<Hook> hooks_;
};

}  // namespace ratoon
