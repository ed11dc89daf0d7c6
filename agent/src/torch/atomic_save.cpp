#include <functional>
#include <optional>

#include <torch/nn/module.h>
#include <torch/optim/optimizer.h>
#include <torch/serialize/archive.h>

#include <ratoon/atomic_file.h>
#include <ratoon/failure.h>
#include <ratoon/torch/atomic_save.h>

#include "base/contract/exit_code.h"

namespace ratoon::torch {
namespace {

// LibTorch's archives write through a function that returns how many bytes it accepted.
using WriteFunction = std::function<std::size_t(const void* bytes, std::size_t count)>;

std::span<const std::byte> bytes_at(const void* bytes, std::size_t count) {
  return {static_cast<const std::byte*>(bytes), count};
}

void save(const std::filesystem::path& path, const std::function<void(const WriteFunction&)>& write) {
  const auto body = [&](const AppendBytes& append) -> Result<void> {
    std::optional<Error> refused;
    // After an error, `writer` discards all further bytes and reports them as accepted. If `writer` reported
    // an error, LibTorch's zip writer would throw in its destructor and end the process.
    const WriteFunction writer = [&](const void* bytes, std::size_t count) -> std::size_t {
      if (refused) return count;
      if (auto appended = append(bytes_at(bytes, count)); !appended) refused = appended.error();
      return count;
    };
    write(writer);
    if (refused) return *refused;
    return {};
  };
  sweep_temporary_files(path);
  const auto saved = save_file_atomically(path, body);
  if (!saved) throw Failure(static_cast<int>(ExitCode::kStorage), saved.error().message());
}

void save_archive(const std::filesystem::path& path,
                  const std::function<void(::torch::serialize::OutputArchive&)>& fill) {
  ::torch::serialize::OutputArchive archive;
  fill(archive);
  save(path, [&](const WriteFunction& writer) { archive.save_to(writer); });
}

}  // namespace

void atomic_save(const at::Tensor& tensor, const std::filesystem::path& path) {
  save_archive(path, [&](::torch::serialize::OutputArchive& archive) { archive.write("0", tensor); });
}

void atomic_save(const std::vector<at::Tensor>& tensors, const std::filesystem::path& path) {
  save_archive(path, [&](::torch::serialize::OutputArchive& archive) {
    for (std::size_t i = 0; i < tensors.size(); ++i) archive.write(std::to_string(i), tensors[i]);
  });
}

void atomic_save(const ::torch::nn::Module& module, const std::filesystem::path& path) {
  save_archive(path, [&](::torch::serialize::OutputArchive& archive) { module.save(archive); });
}

void atomic_save(const ::torch::optim::Optimizer& optimizer, const std::filesystem::path& path) {
  save_archive(path, [&](::torch::serialize::OutputArchive& archive) { optimizer.save(archive); });
}

void atomic_save(::torch::serialize::OutputArchive& archive, const std::filesystem::path& path) {
  save(path, [&](const WriteFunction& writer) { archive.save_to(writer); });
}

}  // namespace ratoon::torch
