// Operators without a kernel of the test accelerator: the stream is drained, and they run on the CPU.
#include <ATen/native/CPUFallback.h>
#include <torch/library.h>

#include "tests/support/accelerator/counts.h"
#include "tests/support/accelerator/launch.h"
#include "tests/support/accelerator/map_tensors.h"
#include "tests/support/accelerator/streams.h"

namespace ratoon::test::accelerator {
namespace {

void fall_back(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  count_fallback(c10::toString(op.operator_name()));
  const auto arguments = op.schema().arguments().size();
  c10::DeviceIndex device = current_device();
  for (std::size_t i = stack->size() - arguments; i < stack->size(); ++i) {
    (void)map_tensors((*stack)[i], [&device](const at::Tensor& tensor) {
      if (tensor.is_privateuseone()) device = tensor.device().index();
      return tensor;
    });
  }
  drain(device, "run an operator");
  const FallbackScope scope;
  at::native::cpu_fallback(op, stack);
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&fall_back>());
}

}  // namespace
}  // namespace ratoon::test::accelerator
