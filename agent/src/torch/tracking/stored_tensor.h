// torch/tracking/: Saves and restores the state of LibTorch objects: modules, optimizers, schedules,
// generators and tensors.
//
// Saves and restores tensors of LibTorch. write_tensor() and the other functions throw a Failure with exit
// code 82 if a tensor cannot be saved, or if it has another type or shape in the checkpoint.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include <ratoon/state.h>

namespace ratoon {

// ShapeRule says whether a tensor may change its shape between two saves. With kFixed, request_tensor()
// restores the tensor into a tensor that the program has created.
enum class ShapeRule { kMayChange, kFixed };
// Saves a tensor. If the tensor is dense and on the CPU, the save uses its memory directly. Sparse tensors
// and tensors on a GPU are copied first; tensors on a GPU are copied into pinned memory. If `box` is given,
// the tensor is the part of a larger tensor, shared by all ranks, that this rank saves.
void write_tensor(StateWriter& out, const std::string& name, const at::Tensor& tensor,
                  const std::optional<TensorBox>& box = {}, ShapeRule rule = ShapeRule::kMayChange);

// Returns the bytes of a tensor in memory, from its first to its last element.
[[nodiscard]] StateWriter::Memory memory_of(const at::Tensor& tensor);

// Requests the saved tensor of this name with the type and shape of `tensor`. If `tensor` is dense and on the
// CPU, its memory is filled directly, and otherwise through a copy.
void request_tensor(StateReader& in, const std::string& name, const at::Tensor& tensor,
                    const std::optional<TensorBox>& box = {});

// Returns an empty CPU tensor with the type and shape of tensor `name` in the checkpoint, or an undefined
// tensor if the checkpoint lacks it.
[[nodiscard]] at::Tensor empty_like_stored(StateReader& in, const std::string& name, at::Device device);

}  // namespace ratoon
