// Finds LibTorch's default random number generators, from which dropout and similar layers draw.
#pragma once

#include <string>
#include <vector>

#include <ATen/core/Generator.h>
#include <c10/core/Device.h>

namespace ratoon {

struct NamedGenerator {
  std::string name;
  at::Generator generator;
};

// Returns the default generator of the CPU under the name "generator:cpu", and the default generator of each
// GPU in `devices`. The first GPU's generator is named "generator:cuda:0" even if the GPU has another number,
// because that number may differ on another machine.
[[nodiscard]] std::vector<NamedGenerator> default_generators(const std::vector<at::Device>& devices);

}  // namespace ratoon
