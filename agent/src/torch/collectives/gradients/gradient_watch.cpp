#include "agent/src/torch/collectives/gradients/gradient_watch.h"

#include <exception>
#include <stdexcept>

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include "base/core/threads/mutex.h"

namespace ratoon {

namespace autograd = ::torch::autograd;

// A mutex is needed, because autograd accumulates gradients on several threads if parameters are on several
// devices.
struct GradientWatch::Listener {
  Mutex mutex;
  // Empty after the GradientWatch was destroyed.
  std::function<void(std::size_t)> on_gradient RATOON_GUARDED_BY(mutex);
  std::exception_ptr thrown RATOON_GUARDED_BY(mutex);

  void tell(std::size_t parameter) {
    const MutexLock lock(mutex);
    if (!on_gradient) return;
    try {
      on_gradient(parameter);
    } catch (...) {
      if (!thrown) thrown = std::current_exception();
      throw std::runtime_error("the averaging of gradients ended");
    }
  }
};

// The hook is registered with autograd's node that accumulates the gradient. A hook of the tensor itself
// would run before the gradient is added to the gradient of earlier backward() calls.
class GradientWatch::AccumulationHook : public autograd::FunctionPostHook {
 public:
  AccumulationHook(std::shared_ptr<Listener> listener, std::size_t parameter)
      : listener_(std::move(listener)), parameter_(parameter) {}

  autograd::variable_list operator()(const autograd::variable_list& outputs,
                                     const autograd::variable_list& /*inputs*/) override {
    listener_->tell(parameter_);
    return outputs;
  }

 private:
  std::shared_ptr<Listener> listener_;
  std::size_t parameter_;
};

GradientWatch::GradientWatch(const std::vector<at::Tensor>& parameters,
                             std::function<void(std::size_t)> on_gradient)
    : listener_(std::make_shared<Listener>()) {
  listener_->on_gradient = std::move(on_gradient);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    Hook hook{.node = autograd::impl::grad_accumulator(parameters[i])};
    hook.key = hook.node->add_post_hook(std::make_unique<AccumulationHook>(listener_, i));
    hooks_.push_back(std::move(hook));
  }
}

// If backward() fails on one device, hooks may still run on the threads of other devices.
GradientWatch::~GradientWatch() {
  {
    const MutexLock lock(listener_->mutex);
    listener_->on_gradient = nullptr;
  }
  for (const Hook& hook : hooks_) hook.node->del_post_hook(hook.key);
}

void GradientWatch::run_backward(const std::function<void()>& backward) const {
  try {
    backward();
  } catch (...) {
    const MutexLock lock(listener_->mutex);
    if (listener_->thrown) std::rethrow_exception(listener_->thrown);
    throw;
  }
}

}  // namespace ratoon
