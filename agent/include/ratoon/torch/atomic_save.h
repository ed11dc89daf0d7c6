// ratoon::torch::atomic_save: torch::save for a file that must not be lost.
//
//   ratoon::torch::atomic_save(net, "out/net.pt");          // a module, or its holder
//   ratoon::torch::atomic_save(optimizer, "out/optimizer.pt");
//   torch::load(net, "out/net.pt");
//
// The file has the same bytes as with torch::save. The bytes are written to a temporary file beside the path
// and synced; then the file is renamed. After any crash or power cut the path has either the old content or
// all of the new content. If atomic_save() fails, the old file is unchanged and no temporary file remains. A
// call also removes temporary files that killed writers of the same path left.
//
// Names and tensors become the dictionary that torch.save writes in Python; torch.load(path,
// weights_only=True) and torch::pickle_load read it.
//
//   ratoon::torch::atomic_save({{"weight", weight}, {"step", torch::tensor(17)}}, "out/state.pt");
//
// The folder of the path must exist. An error of the disk is a ratoon::Failure with exit code 84. A named
// tensor without plain bytes (sparse, quantised, complex128, ...) is a ratoon::Failure with exit code 82. If
// LibTorch cannot write an object, LibTorch's own exception is thrown.
#pragma once

#include <concepts>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace torch::nn {
class Module;
}
namespace torch::optim {
class Optimizer;
}
namespace torch::serialize {
class OutputArchive;
}

namespace ratoon::torch {

using NamedTensors = std::map<std::string, at::Tensor>;

void atomic_save(const at::Tensor& tensor, const std::filesystem::path& path);
void atomic_save(const std::vector<at::Tensor>& tensors, const std::filesystem::path& path);
void atomic_save(const ::torch::nn::Module& module, const std::filesystem::path& path);
void atomic_save(const ::torch::optim::Optimizer& optimizer, const std::filesystem::path& path);
void atomic_save(::torch::serialize::OutputArchive& archive, const std::filesystem::path& path);
void atomic_save(const NamedTensors& tensors, const std::filesystem::path& path);

// The overload for TORCH_MODULE's holders and shared pointers to modules.
template <class Holder>
  requires requires(const Holder& holder) {
    { *holder } -> std::convertible_to<const ::torch::nn::Module&>;
  }
void atomic_save(const Holder& holder, const std::filesystem::path& path) {
  atomic_save(static_cast<const ::torch::nn::Module&>(*holder), path);
}

}  // namespace ratoon::torch
