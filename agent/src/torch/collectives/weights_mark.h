// WeightsMark: what a rank shows of its weights, so that ranks that start from different ones are found. Sums
// are made where the weights lie: nothing but eight bytes a tensor comes from an accelerator.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace torch::nn {
class Module;
}

namespace ratoon {

struct WeightsMark {
  std::string whole;                 // of all of it, of the same length for any model
  std::vector<std::string> names{};  // of the parameters; buffers may differ: each rank's batch norm has seen
                                     // its own samples
  std::vector<std::uint64_t> sums{};  // of each parameter: its kind of device, shape, type and numbers
};

// Throws Failure with exit code 82 for a parameter that has no numbers to compare.
[[nodiscard]] WeightsMark mark_weights(const ::torch::nn::Module& module);

}  // namespace ratoon
