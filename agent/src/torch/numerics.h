// Notes on which kind of device the weights are, because each checkpoint records it.
#pragma once

#include <ATen/core/Tensor.h>

namespace ratoon {

// Call note_device_of() for each module that is saved or loaded; the last call decides.
void note_device_of(const at::Tensor& weights);

}  // namespace ratoon
