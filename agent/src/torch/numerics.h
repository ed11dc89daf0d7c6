// Where the weights are: the kind of device that the numerics in a checkpoint name.
#pragma once

#include <ATen/core/Tensor.h>

namespace ratoon {

// Of a module that is saved or loaded; the last one counts.
void note_device_of(const at::Tensor& weights);

}  // namespace ratoon
