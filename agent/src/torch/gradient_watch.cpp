#include "agent/src/torch/gradient_watch.h"

#include <mutex>

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

namespace ratoon {
namespace {

namespace autograd = ::torch::autograd;

// Parameters of several devices have their gradients on several threads.
struct Listener {
  std::mutex mutex;
  std::function<void(std::size_t)> on_gradient;
};

// A hook of the node that accumulates, and not of the tensor: those see the gradient before it is added to
// what earlier calls of backward() left.
class AfterAccumulation : public autograd::FunctionPostHook {
 public:
  AfterAccumulation(std::shared_ptr<Listener> listener, std::size_t parameter)
      : listener_(std::move(listener)), parameter_(parameter) {}

  autograd::variable_list operator()(const autograd::variable_list& outputs,
                                     const autograd::variable_list& /*inputs*/) override {
    const std::scoped_lock lock(listener_->mutex);
    listener_->on_gradient(parameter_);
    return outputs;
  }

 private:
  std::shared_ptr<Listener> listener_;
  std::size_t parameter_;
};

}  // namespace

GradientWatch::GradientWatch(const std::vector<at::Tensor>& parameters,
                             std::function<void(std::size_t)> on_gradient) {
  const auto listener = std::make_shared<Listener>();
  listener->on_gradient = std::move(on_gradient);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    Hook hook{.node = autograd::impl::grad_accumulator(parameters[i])};
    hook.key = hook.node->add_post_hook(std::make_unique<AfterAccumulation>(listener, i));
    hooks_.push_back(std::move(hook));
  }
}

GradientWatch::~GradientWatch() {
  for (const Hook& hook : hooks_) hook.node->del_post_hook(hook.key);
}

}  // namespace ratoon
