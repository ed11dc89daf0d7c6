// Records the kind of device on which the weights are, for the next checkpoint.
#pragma once

#include <ATen/core/Tensor.h>

namespace ratoon {

// Call note_device_of() for each module that is saved or loaded. Each call replaces the previous record.
void note_device_of(const at::Tensor& weights);

}  // namespace ratoon
