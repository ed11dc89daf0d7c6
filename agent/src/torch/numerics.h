// Notes on which device the weights are: a checkpoint records the kind of device.
#pragma once

#include <ATen/core/Tensor.h>

namespace ratoon {

// Call note_device_of() for each module that is saved or loaded; the last call counts.
void note_device_of(const at::Tensor& weights);

}  // namespace ratoon
