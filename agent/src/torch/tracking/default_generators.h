// LibTorch's default random number generators, from which dropout and similar layers draw.
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

// Returns "generator:cpu", and the generators of the GPUs among the devices. "generator:cuda:0" is the
// generator of the first of them: GPUs are counted, because a device's own number may differ on another
// machine.
[[nodiscard]] std::vector<NamedGenerator> default_generators(const std::vector<at::Device>& devices);

}  // namespace ratoon
