// ratoon::torch::atomic_save: saves like torch::save, but replaces the old file only when the new file is
// complete.
//
//   ratoon::torch::atomic_save(net, "out/net.pt");          // a module, or its holder
//   ratoon::torch::atomic_save(optimizer, "out/optimizer.pt");
//   torch::load(net, "out/net.pt");
//
// The file has the same bytes as a file of torch::save. atomic_save() writes to a temporary file in the
// folder of the path. Then it syncs the temporary file and renames the file to the path. After any crash or
// power cut, the file has either the old content or all of the new content. If atomic_save() fails, the old
// file is unchanged and no temporary file remains. atomic_save() removes temporary files that killed writers
// of the same path have left.
//
// atomic_save() saves a list of names and tensors as a dictionary, as torch.save in Python does.
// torch.load(path, weights_only=True) and torch::pickle_load read this dictionary.
//
//   ratoon::torch::atomic_save({{"weight", weight}, {"step", torch::tensor(17)}}, "out/state.pt");
//
// The folder in which `path` lies must exist. atomic_save() throws a ratoon::Failure with exit code 84 for
// an error of the disk. The exit code is 82 if the bytes of a named tensor cannot be saved as they are
// (sparse, quantised, complex128, ...). If LibTorch cannot write an object, LibTorch's own exception is
// thrown.
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

// Saves the module in a holder of TORCH_MODULE or in a shared pointer.
template <class Holder>
  requires requires(const Holder& holder) {
    { *holder } -> std::convertible_to<const ::torch::nn::Module&>;
  }
void atomic_save(const Holder& holder, const std::filesystem::path& path) {
  atomic_save(static_cast<const ::torch::nn::Module&>(*holder), path);
}

}  // namespace ratoon::torch
