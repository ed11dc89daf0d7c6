// Tensors of LibTorch on their way into a checkpoint and back. What cannot be saved, and what is in the
// checkpoint in another form, is a Failure with exit code 82.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include <ratoon/state.h>

namespace ratoon {

// A view of its memory where it is dense and on the CPU; else a copy, in pinned memory if it is on a GPU.
// With a box it is a part of a tensor that ranks share.
void put_tensor(StateWriter& out, const std::string& name, const at::Tensor& tensor,
                const std::optional<TensorBox>& box = {});

// Where it lies, from its first element to its last one.
[[nodiscard]] StateWriter::Memory memory_of(const at::Tensor& tensor);

// Fills a tensor of the same type and shape: in place where it is dense and on the CPU, else through a copy.
void want_tensor(StateReader& in, const std::string& name, const at::Tensor& tensor,
                 const std::optional<TensorBox>& box = {});

// An empty one on the CPU with the type and shape that the checkpoint has. Undefined: it has none.
[[nodiscard]] at::Tensor like_stored(StateReader& in, const std::string& name);

}  // namespace ratoon
