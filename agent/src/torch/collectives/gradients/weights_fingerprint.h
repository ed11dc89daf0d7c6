// WeightsFingerprint is a digest of the weights that a rank trains. Ranks compare their fingerprints to
// detect that their weights differ. The fingerprint is computed on the device of the weights, so only eight
// bytes per tensor are copied from an accelerator to the host.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

namespace torch::nn {
class Module;
}

namespace ratoon {

struct WeightsFingerprint {
  std::string whole;                  // of all parameters; the same length for any model
  std::vector<std::string> names{};   // of the parameters
  std::vector<std::uint64_t> sums{};  // of each parameter: its device kind, shape, type and values
};

using NamedWeights = std::vector<std::pair<std::string, at::Tensor>>;

// Returns the parameters that require gradients. Frozen parameters and buffers are not compared, because they
// may differ between ranks: the buffers of batch norm depend on a rank's samples.
[[nodiscard]] NamedWeights trained_weights(const ::torch::nn::Module& module);
// Returns the parameters that require gradients: one list for each of `modules`, and one list for `tensors`.
// The name of a module's parameter begins with the number of the module, as in "1.layer.weight". The name of
// a tensor has the tensor's number, as in "tensor 3". A parameter that belongs to two modules is listed once.
// If a tensor is undefined or the result of an operation, throws Failure with exit code 82.
[[nodiscard]] std::vector<NamedWeights> trained_weights(
    std::span<const std::reference_wrapper<::torch::nn::Module>> modules,
    const std::vector<at::Tensor>& tensors);

// If a parameter has no values that could be compared, throws Failure with exit code 82.
[[nodiscard]] WeightsFingerprint fingerprint_weights(const NamedWeights& weights);

}  // namespace ratoon
