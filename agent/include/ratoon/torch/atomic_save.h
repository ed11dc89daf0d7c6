// ratoon::torch::atomic_save: torch::save for a file that must not be lost.
//
//   ratoon::torch::atomic_save(net, "out/net.pt");          // a module, or its holder
//   ratoon::torch::atomic_save(optimizer, "out/optimizer.pt");
//   torch::load(net, "out/net.pt");
//
// The bytes are torch::save's. They go to a temporary file beside the path, are synced, and only then take
// its name: after any crash and any power cut the file holds what it held before, or all of the new. Where it
// fails the old file stands and no temporary file is left; what killed writers of the same path left is
// removed by the next call.
//
// Names and tensors become the dictionary that torch.save writes in Python: torch.load(path,
// weights_only=True) and torch::pickle_load read it.
//
//   ratoon::torch::atomic_save({{"weight", weight}, {"step", torch::tensor(17)}}, "out/state.pt");
//
// The folder must exist. What the disk refuses is a ratoon::Failure with exit code 84; a named tensor that
// has no plain bytes (sparse, quantised, complex128, ...) one with 82; what LibTorch cannot write, its own
// exception.
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

// TORCH_MODULE's holders and shared pointers to modules.
template <class Holder>
  requires requires(const Holder& holder) {
    { *holder } -> std::convertible_to<const ::torch::nn::Module&>;
  }
void atomic_save(const Holder& holder, const std::filesystem::path& path) {
  atomic_save(static_cast<const ::torch::nn::Module&>(*holder), path);
}

}  // namespace ratoon::torch
