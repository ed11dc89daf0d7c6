// The pickle of a dictionary of tensors, byte for byte as torch.save of PyTorch 2.11 writes it for
// {name: tensor, ...} whose tensors are contiguous and share nothing: storage k belongs to tensor k.
#pragma once

#include <span>
#include <string>

#include <ratoon/result.h>

#include "agent/src/checkpoint/interop/tensor_source.h"

namespace ratoon::checkpoint {

// Refuses types that no tensor of PyTorch has. The caller has checked names and shapes.
[[nodiscard]] Result<std::string> pickle_of(std::span<const TensorSource> tensors);

}  // namespace ratoon::checkpoint
