// Operators that are queued on the current stream and return at once. The sizes and types of results, and
// errors in arguments, come from LibTorch's meta device; the CPU's kernel runs later, on the memory of the
// device.
#include <memory>

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/empty_strided.h>
#include <torch/library.h>

#include "tests/support/accelerator/launch.h"
#include "tests/support/accelerator/map_tensors.h"
#include "tests/support/accelerator/streams.h"

namespace ratoon::test::accelerator {
namespace {

using Stack = torch::jit::Stack;

// The device of all tensors. Numbers on the host may be among the tensors, as with CUDA.
c10::Device common_device(const c10::OperatorHandle& op, const Stack& arguments) {
  std::optional<c10::Device> found;
  for (const c10::IValue& argument : arguments) {
    (void)map_tensors(argument, [&](const at::Tensor& tensor) {
      if (tensor.is_cpu() && tensor.dim() == 0) return tensor;
      TORCH_CHECK(tensor.is_privateuseone() && found.value_or(tensor.device()) == tensor.device(),
                  "Expected all tensors of ", c10::toString(op.operator_name()),
                  " to be on the same device, but found at least two devices, ", tensor.device(), " and ",
                  found.value_or(c10::Device(c10::kPrivateUse1)), "!");
      found = tensor.device();
      return tensor;
    });
  }
  return found.value_or(c10::Device(c10::kPrivateUse1, current_device()));
}

at::Tensor on_meta(const at::Tensor& tensor) {
  if (!tensor.is_privateuseone()) return tensor;
  return at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options().device(c10::kMeta));
}

// As CUDA does, a number on the host is read when the kernel is queued.
at::Tensor later_on_host(const at::Tensor& tensor) {
  if (tensor.is_privateuseone()) return on_host(tensor);
  at::Tensor number = tensor.clone();
  number.unsafeGetTensorImpl()->set_wrapped_number(tensor.unsafeGetTensorImpl()->is_wrapped_number());
  return number;
}

Stack mapped(const Stack& values, const TensorMap& map) {
  Stack result;
  result.reserve(values.size());
  for (const c10::IValue& value : values) result.push_back(map_tensors(value, map));
  return result;
}

// The argument that a result refers to, by the schema: "a" of "add_(Tensor(a!) self, ...) -> Tensor(a!)".
std::optional<std::size_t> argument_of(const c10::FunctionSchema& schema, const c10::Argument& result) {
  if (result.alias_info() == nullptr) return std::nullopt;
  for (std::size_t i = 0; i < schema.arguments().size(); ++i) {
    const c10::AliasInfo* const alias = schema.arguments()[i].alias_info();
    if (alias != nullptr && alias->beforeSets() == result.alias_info()->beforeSets()) return i;
  }
  return std::nullopt;
}

struct Results {
  Stack values;                     // what the operator returns now
  std::vector<at::Tensor> targets;  // where the kernel's results go; undefined where they are in an argument
};

Results make_results(const c10::FunctionSchema& schema, const Stack& arguments, const Stack& on_meta,
                     c10::Device device) {
  Results made;
  for (std::size_t i = 0; i < schema.returns().size(); ++i) {
    const at::Tensor& shape = on_meta[i].toTensor();
    if (const auto argument = argument_of(schema, schema.returns()[i])) {
      const at::Tensor& given = arguments[*argument].toTensor();
      if (!given.sizes().equals(shape.sizes())) given.resize_(shape.sizes());
      made.values.push_back(given);
      made.targets.emplace_back();
    } else {
      const auto options = shape.options().device(device);
      const at::Tensor fresh = at::empty_strided(shape.sizes(), shape.strides(), options);
      made.values.push_back(fresh);
      made.targets.push_back(on_host(fresh));
    }
  }
  return made;
}

void queue_kernel(const c10::OperatorHandle& op, Stack* stack) {
  const c10::FunctionSchema& schema = op.schema();
  const Stack arguments = torch::jit::pop(*stack, schema.arguments().size());
  const c10::Device device = common_device(op, arguments);
  Results results;
  if (!schema.returns().empty()) {
    Stack meta = mapped(arguments, on_meta);
    op.callBoxed(meta);
    results = make_results(schema, arguments, meta, device);
  }
  launch(device.index(),
         [op, inputs = mapped(arguments, later_on_host), targets = std::move(results.targets)] {
           Stack values = inputs;
           op.callBoxed(values);
           for (std::size_t i = 0; i < targets.size(); ++i)
             if (targets[i].defined()) targets[i].copy_(values[i].toTensor());
         });
  for (c10::IValue& value : results.values) stack->push_back(std::move(value));
}

// As CUDA's kernel, takes no bf16.
void queue_unscale(const c10::OperatorHandle& op, Stack* stack) {
  for (const c10::IValue& argument : torch::jit::last(*stack, op.schema().arguments().size())) {
    (void)map_tensors(argument, [](const at::Tensor& tensor) {
      TORCH_CHECK(tensor.scalar_type() != at::kBFloat16,
                  "\"_amp_foreach_non_finite_check_and_unscale_\" not implemented for 'BFloat16'");
      return tensor;
    });
  }
  queue_kernel(op, stack);
}

// Each operator has a kernel for the meta device, or no result.
constexpr const char* kKernels[] = {
    "fill_.Scalar",
    "fill_.Tensor",
    "zero_",
    "add.Tensor",
    "add_.Tensor",
    "add.out",
    "sub.Tensor",
    "sub_.Tensor",
    "sub.out",
    "mul.Tensor",
    "mul_.Tensor",
    "mul.out",
    "div.Tensor",
    "div_.Tensor",
    "div.out",
    "addcmul_",
    "addcdiv_",
    "sqrt",
    "sqrt_",
    "sqrt.out",
    "reciprocal_",
    "lerp_.Scalar",
    "mm",
    "addmm",

    "threshold_backward",
    "_foreach_add_.List",
    "_foreach_add_.Scalar",
    "_foreach_mul_.List",
    "_foreach_mul_.Scalar",
    "_foreach_mul_.Tensor",
    "_foreach_div_.Scalar",
    "_foreach_zero_",
    "_foreach_copy_",
    "_fused_adamw_",
    "_fused_adam_",
    "_fused_sgd_",
};

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  for (const char* name : kKernels) m.impl(name, torch::CppFunction::makeFromBoxedFunction<&queue_kernel>());
  m.impl("_amp_foreach_non_finite_check_and_unscale_",
         torch::CppFunction::makeFromBoxedFunction<&queue_unscale>());
}

}  // namespace
}  // namespace ratoon::test::accelerator
