// Returns an operator's argument with each tensor in it replaced.
#pragma once

#include <functional>

#include <ATen/core/ivalue.h>

namespace ratoon::test::accelerator {

using TensorMap = std::function<at::Tensor(const at::Tensor&)>;

// Tensors that are not defined stay as they are.
[[nodiscard]] c10::IValue map_tensors(const c10::IValue& value, const TensorMap& map);

}  // namespace ratoon::test::accelerator
