// Tensors by name as one text of bytes: safetensors, so that other programs can read what a run has saved.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include <ATen/core/Tensor.h>

#include <ratoon/result.h>

namespace ratoon {

using TensorsByName = std::map<std::string, at::Tensor>;

struct TensorArchive {
  std::string kind;  // of the object that these are the state of: "module", "AdamW", ...
  TensorsByName tensors;
};

[[nodiscard]] Result<std::string> encode_archive(const TensorArchive& archive);

// The tensors are on the CPU and own their memory.
[[nodiscard]] Result<TensorArchive> decode_archive(std::string_view bytes);

// "F32 [3, 4]", for sentences.
[[nodiscard]] std::string describe(const at::Tensor& tensor);

}  // namespace ratoon
