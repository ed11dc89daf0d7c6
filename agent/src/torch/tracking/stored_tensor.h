// torch/tracking/: How state of LibTorch is tracked: modules, optimizers, schedules, generators, tensors.
//
// Saves and restores tensors of LibTorch. A tensor that cannot be saved, or that has another form in the
// checkpoint, is a Failure with exit code 82.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include <ratoon/state.h>

namespace ratoon {

// Writes a view of the tensor's memory if it is dense and on the CPU; otherwise a copy, in pinned memory if
// it is on a GPU. With a box the tensor is a part of a tensor that ranks share.
void put_tensor(StateWriter& out, const std::string& name, const at::Tensor& tensor,
                const std::optional<TensorBox>& box = {});

// The tensor's memory, from its first element to its last one.
[[nodiscard]] StateWriter::Memory memory_of(const at::Tensor& tensor);

// Requests a tensor of the same type and shape. The tensor is filled in place if it is dense and on the CPU,
// otherwise through a copy.
void want_tensor(StateReader& in, const std::string& name, const at::Tensor& tensor,
                 const std::optional<TensorBox>& box = {});

// Returns an empty CPU tensor with the type and shape in the checkpoint; an undefined tensor if the
// checkpoint has no such tensor.
[[nodiscard]] at::Tensor like_stored(StateReader& in, const std::string& name);

}  // namespace ratoon
