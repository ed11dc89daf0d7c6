// Digests of weights: one short text that two ranks, or two runs, can compare.
//
//   const auto mine = ratoon::digest(*net);
//   if (mine && *mine != digest_of_rank_0) ...  // start weights differ
//
// XXH3-128 over (name, element type, shape, bytes) of every tensor, in the order of names. Equal digests mean
// equal names, types, shapes and values, bit for bit (-0.0 is not 0.0), on any device and with any strides or
// order of registration. The digest detects accidental differences. The digest does not protect against a
// deliberate collision.
#pragma once

#include <span>
#include <string>

#include <ATen/core/Tensor.h>

#include <ratoon/result.h>

namespace torch::nn {
class Module;
}

namespace ratoon {

struct NamedTensor {
  std::string name{};
  at::Tensor tensor{};
};

// 32 hexadecimal digits. Returns an error if two tensors have the same name.
[[nodiscard]] Result<std::string> digest(std::span<const NamedTensor> tensors);

// The digest of all parameters and buffers of the module and its submodules. The digest covers no other
// members of the module.
[[nodiscard]] Result<std::string> digest(const ::torch::nn::Module& module);

}  // namespace ratoon
