// The device of the weights: the numerics in a checkpoint contain its kind.
#pragma once

#include <ATen/core/Tensor.h>

namespace ratoon {

// Call this for a module that is saved or loaded; the last call counts.
void note_device_of(const at::Tensor& weights);

}  // namespace ratoon
