#include "agent/src/torch/restore.h"

#include <ratoon/failure.h>

#include "base/contract/exit_code.h"

namespace ratoon {

void refuse_state(const std::string& name, const std::string& why) {
  throw Failure(static_cast<int>(ExitCode::kConfiguration), "tracked '" + name + "': " + why);
}

std::string save_archive(const std::string& name, const TensorArchive& archive) {
  auto bytes = encode_archive(archive);
  if (!bytes) refuse_state(name, "it cannot be saved: " + bytes.error().message());
  return std::move(*bytes);
}

TensorsByName read_state(const std::string& name, const std::string& kind, std::string_view state) {
  auto archive = decode_archive(state);
  if (!archive) refuse_state(name, archive.error().message());
  if (archive->kind != kind) {
    refuse_state(name, "the checkpoint has the state of a " + archive->kind + " and the program tracks a " +
                           kind + " under this name: it is of another program");
  }
  return std::move(archive->tensors);
}

void check_same_form(const std::string& name, const std::string& tensor_name, const at::Tensor& saved,
                     const at::Tensor& now) {
  if (saved.scalar_type() == now.scalar_type() && saved.sizes() == now.sizes()) return;
  refuse_state(name, "tensor \"" + tensor_name + "\" is " + describe(saved) + " in the checkpoint and " +
                         describe(now) +
                         " in the program: build the model as the run began with it, or begin a run of "
                         "another name");
}

}  // namespace ratoon
