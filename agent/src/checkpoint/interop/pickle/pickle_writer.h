// Returns the pickle of a dictionary {name: tensor, ...}, byte for byte as torch.save of PyTorch 2.11 writes
// it if the tensors are contiguous and share no memory. In the pickle, the key of the storage of tensor
// number k is the number k.
#pragma once

#include <span>
#include <string>

#include <ratoon/result.h>

#include "agent/src/checkpoint/interop/tensor_source.h"

namespace ratoon::checkpoint {

// Returns an error for a tensor whose element type PyTorch does not have, or whose shape overflows. Call
// check_names() before pickle_of().
[[nodiscard]] Result<std::string> pickle_of(std::span<const TensorSource> tensors);

}  // namespace ratoon::checkpoint
