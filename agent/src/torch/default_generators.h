// LibTorch's own generators of random numbers, which dropout and the like draw from.
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

// "generator:cpu", and those of the GPUs among the devices: "generator:cuda:0" is that of the first one. They
// are counted and not called by their number, which is another one on another machine.
[[nodiscard]] std::vector<NamedGenerator> default_generators(const std::vector<at::Device>& devices);

}  // namespace ratoon
