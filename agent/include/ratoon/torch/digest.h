// digest(): returns a short text by which two ranks, or two runs, can compare their weights.
//
//   const auto mine = ratoon::digest(*net);
//   if (mine && *mine != digest_of_rank_0) ...  // start weights differ
//
// A digest is the XXH3-128 hash of every tensor's name, element type, shape and bytes, in the order of names.
// Equal digests mean equal names, types, shapes and values, bit for bit (-0.0 is not 0.0). Device, strides
// and order of registration do not change the digest. The digest detects accidental differences. The digest
// does not protect against deliberate collisions of the hash.
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

// Returns the digest as 32 hexadecimal digits, or an error if two tensors have the same name.
[[nodiscard]] Result<std::string> digest(std::span<const NamedTensor> tensors);

// Returns the digest of all parameters and buffers of the module and its submodules. The digest covers no
// other members of the module.
[[nodiscard]] Result<std::string> digest(const ::torch::nn::Module& module);

}  // namespace ratoon
