// Records the kind of device on which the weights are, for the next checkpoint.
#pragma once

#include <ATen/core/Tensor.h>

namespace ratoon {

// Call record_device_of() for each module that is saved or loaded. Each call overwrites the device kind that
// an earlier call has recorded.
void record_device_of(const at::Tensor& weights);

}  // namespace ratoon
