#include <vector>

#include <ratoon/atomic_file.h>
#include <ratoon/failure.h>
#include <ratoon/torch/atomic_save.h>
#include <ratoon/torch/tensor_bytes.h>

#include "agent/src/checkpoint/interop/append_sink.h"
#include "agent/src/checkpoint/interop/pt_writer.h"
#include "agent/src/checkpoint/pack/header/safetensors_types.h"
#include "base/contract/exit_code.h"

namespace ratoon::torch {
namespace {

Result<checkpoint::TensorSource> tensor_source_of(const std::string& name, const at::Tensor& tensor) {
  auto bytes = bytes_of_copy(name, tensor);
  if (!bytes) return bytes.error();
  const auto type = checkpoint::element_type_named(bytes->dtype);
  if (!type)
    return Error(ErrorKind::kInvalid, "tensor \"" + name + "\" is of type " + std::string(bytes->dtype) +
                                          ", which a .pt file of Ratoon does not support");
  return checkpoint::TensorSource{
      .name = name,
      .type = *type,
      .shape = TensorShape(bytes->shape.begin(), bytes->shape.end()),
      .write = [bytes = *bytes](checkpoint::ByteSink& sink) { return sink.append(bytes.bytes); }};
}

void check(const Result<void>& done) {
  if (done) return;
  const bool is_ours = done.error().kind() == ErrorKind::kInvalid;
  throw Failure(static_cast<int>(is_ours ? ExitCode::kConfiguration : ExitCode::kStorage),
                done.error().message());
}

}  // namespace

void atomic_save(const NamedTensors& tensors, const std::filesystem::path& path) {
  std::vector<checkpoint::TensorSource> sources;
  for (const auto& [name, tensor] : tensors) {
    auto source = tensor_source_of(name, tensor);
    if (!source) check(source.error());
    sources.push_back(*std::move(source));
  }
  sweep_temporary_files(path);
  check(save_file_atomically(path, [&](const AppendBytes& append) {
    checkpoint::AppendSink sink(append);
    return checkpoint::write_pt(sources, sink);
  }));
}

}  // namespace ratoon::torch
