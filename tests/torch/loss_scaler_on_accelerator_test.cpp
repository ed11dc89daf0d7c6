// LossScaler on the test accelerator, which takes the types of elements that CUDA takes.
#include <limits>
#include <utility>

#include <ATen/ops/equal.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>
#include <torch/optim/sgd.h>

#include <ratoon/torch/loss_scaler.h>

namespace ratoon::loss_scaler_on_accelerator_test {
namespace {

using at::Tensor;

struct Stepped {
  bool was_taken;
  Tensor gradient;
};

Stepped step_on(at::Device device, const Tensor& gradient) {
  const Tensor parameter = at::zeros(gradient.sizes(), gradient.options().device(device)).requires_grad_();
  parameter.mutable_grad() = gradient.clone().to(device);
  ::torch::optim::SGD optimizer({parameter}, ::torch::optim::SGDOptions(0.5));
  torch::LossScaler scaler;
  const bool was_taken = scaler.step(optimizer);
  return {was_taken, parameter.grad().cpu()};
}

TEST(LossScalerOnAccelerator, UnscalesGradientsOfEachTypeAsOnTheCpu) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16}) {
    SCOPED_TRACE(c10::toString(type));
    const Tensor finite = at::randn({100}).mul(1000).to(type);
    const Tensor infinite = finite.clone();
    infinite[7].fill_(std::numeric_limits<double>::infinity());
    for (const Tensor& gradient : {finite, infinite}) {
      const Stepped on_cpu = step_on(at::kCPU, gradient);
      const Stepped on_device = step_on({c10::kPrivateUse1, 0}, gradient);
      EXPECT_EQ(on_cpu.was_taken, gradient.is_same(finite));
      EXPECT_EQ(on_device.was_taken, on_cpu.was_taken);
      EXPECT_TRUE(at::equal(on_device.gradient, on_cpu.gradient));
    }
  }
}

}  // namespace
}  // namespace ratoon::loss_scaler_on_accelerator_test
