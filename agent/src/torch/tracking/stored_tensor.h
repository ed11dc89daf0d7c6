// torch/tracking/: Tracks state of LibTorch: modules, optimizers, schedules, generators, tensors.
//
// Saves and restores tensors of LibTorch. The functions throw a Failure with exit code 82 if a tensor cannot
// be saved, or has another type or shape in the checkpoint.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include <ratoon/state.h>

namespace ratoon {

// Writes a view of the tensor's memory if the tensor is dense and on the CPU; if not, a copy, in pinned
// memory for a GPU. With a `box`, the tensor is this rank's part of a shared tensor.
void put_tensor(StateWriter& out, const std::string& name, const at::Tensor& tensor,
                const std::optional<TensorBox>& box = {});

// Returns the memory of a tensor, from its first element to its last element.
[[nodiscard]] StateWriter::Memory memory_of(const at::Tensor& tensor);

// Requests a saved tensor with the type and shape of `tensor`, which is filled in place if it is dense and on
// the CPU, and through a copy if not.
void want_tensor(StateReader& in, const std::string& name, const at::Tensor& tensor,
                 const std::optional<TensorBox>& box = {});

// Returns an empty CPU tensor with the type and shape of tensor `name` in the checkpoint, or an undefined
// tensor if it has no such tensor.
[[nodiscard]] at::Tensor like_stored(StateReader& in, const std::string& name);

}  // namespace ratoon
