// torch/tracking/: Saves and restores the state of LibTorch objects: modules, optimizers, schedules,
// generators and tensors.
//
// Saves and restores tensors of LibTorch. These functions throw a Failure with exit code 82 if a tensor
// cannot be saved, or if it has another type or shape in the checkpoint.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include <ratoon/state.h>

namespace ratoon {

// If the tensor is dense and on the CPU, the save uses its memory directly. Any other tensor is copied first,
// and a tensor of a GPU is copied into pinned memory. If `box` is given, the tensor is the part of a larger
// tensor, shared by all ranks, that this rank saves.
void put_tensor(StateWriter& out, const std::string& name, const at::Tensor& tensor,
                const std::optional<TensorBox>& box = {});

// Returns the bytes of a tensor in memory, from its first to its last element.
[[nodiscard]] StateWriter::Memory memory_of(const at::Tensor& tensor);

// Requests the saved tensor of this name with the type and shape of `tensor`. If `tensor` is dense and on the
// CPU, its memory is filled directly, and otherwise through a copy.
void want_tensor(StateReader& in, const std::string& name, const at::Tensor& tensor,
                 const std::optional<TensorBox>& box = {});

// Returns an empty CPU tensor with the type and shape of tensor `name` in the checkpoint, or an undefined
// tensor if it has no such tensor.
[[nodiscard]] at::Tensor like_stored(StateReader& in, const std::string& name);

}  // namespace ratoon
