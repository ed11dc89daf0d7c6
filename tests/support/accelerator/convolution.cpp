// Convolutions: LibTorch's fallback to the CPU cannot run convolutions, because each device has operators of
// its own for them. The stream is drained, and convolutions run on the CPU.
#include <array>
#include <optional>
#include <tuple>

#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>
#include <torch/library.h>

#include "tests/support/accelerator/counts.h"
#include "tests/support/accelerator/launch.h"

namespace ratoon::test::accelerator {
namespace {

using at::IntArrayRef;
using at::Tensor;
using Bias = std::optional<Tensor>;
using Gradients = std::tuple<Tensor, Tensor, Tensor>;

Tensor on_device(const Tensor& result, const Tensor& like) {
  return result.defined() ? result.to(like.device()) : result;
}

Tensor convolve(const Tensor& input, const Tensor& weight, const Bias& bias, IntArrayRef stride,
                IntArrayRef padding, IntArrayRef dilation, bool is_transposed, IntArrayRef output_padding,
                std::int64_t groups) {
  count_fallback("aten::convolution_overrideable");
  drain(input.device().index(), "run an operator");
  const FallbackScope scope;
  const Bias bias_on_host = bias && bias->defined() ? Bias(on_host(*bias)) : std::nullopt;
  return on_device(at::convolution(on_host(input), on_host(weight), bias_on_host, stride, padding, dilation,
                                   is_transposed, output_padding, groups),
                   input);
}

Gradients convolve_backward(const Tensor& gradient, const Tensor& input, const Tensor& weight,
                            IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, bool is_transposed,
                            IntArrayRef output_padding, std::int64_t groups, std::array<bool, 3> wanted) {
  count_fallback("aten::convolution_backward_overrideable");
  drain(input.device().index(), "run an operator");
  const FallbackScope scope;
  const std::int64_t channels = gradient.size(1);
  const auto [of_input, of_weight, of_bias] =
      at::convolution_backward(on_host(gradient), on_host(input), on_host(weight), IntArrayRef(channels),
                               stride, padding, dilation, is_transposed, output_padding, groups, wanted);
  return {on_device(of_input, input), on_device(of_weight, input), on_device(of_bias, input)};
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("convolution_overrideable", convolve);
  m.impl("convolution_backward_overrideable", convolve_backward);
}

}  // namespace
}  // namespace ratoon::test::accelerator
