// WeightsMark: what a rank shows of the weights that it trains, so that ranks with different ones are found.
// Sums are made where the weights lie: nothing but eight bytes a tensor comes from an accelerator.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

namespace torch::nn {
class Module;
}

namespace ratoon {

struct WeightsMark {
  std::string whole;                  // of all of it, of the same length for any model
  std::vector<std::string> names{};   // of the parameters
  std::vector<std::uint64_t> sums{};  // of each parameter: its kind of device, shape, type and numbers
};

using NamedWeights = std::vector<std::pair<std::string, at::Tensor>>;

// The parameters that require gradients. Others may differ: a rank may change a frozen parameter by itself,
// and each rank's batch norm has buffers of its own samples.
[[nodiscard]] NamedWeights trained_weights(const ::torch::nn::Module& module);

// Throws Failure with exit code 82 for a parameter that has no numbers to compare.
[[nodiscard]] WeightsMark mark_weights(const NamedWeights& weights);

}  // namespace ratoon
