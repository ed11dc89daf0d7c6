#include <cstdint>
#include <optional>

#include <ratoon/failure.h>
#include <ratoon/torch/track.h>

#include "agent/src/torch/tracking/stored_tensor.h"
#include "base/contract/exit_code.h"

namespace ratoon {
namespace {

std::optional<TensorBox> copy_of(const TensorBox* box) {
  return box != nullptr ? std::optional(*box) : std::nullopt;
}

bool is_box_of_shape(const TensorBox& box, at::IntArrayRef part) {
  if (box.begin.size() != part.size() || box.whole_shape.size() != part.size()) return false;
  for (std::size_t i = 0; i < part.size(); ++i) {
    const auto size = static_cast<std::uint64_t>(part[i]);
    if (size > box.whole_shape[i] || box.begin[i] > box.whole_shape[i] - size) return false;
  }
  return true;
}

}  // namespace

void check_tensor(const at::Tensor& tensor, const TensorBox* box, const std::string& name) {
  const auto refuse = [&name](const char* why) {
    throw Failure(static_cast<int>(ExitCode::kConfiguration), "tracked '" + name + "' is " + why);
  };
  if (!tensor.defined()) refuse("an undefined tensor: make it first");
  if (box != nullptr && !is_box_of_shape(*box, tensor.sizes()))
    refuse(
        "a part that does not lie in the whole tensor of its box: begin and whole_shape need a number for "
        "each dimension");
}

void save_tensor(const at::Tensor& tensor, const TensorBox* box, StateWriter& out) {
  write_tensor(out, "", tensor, copy_of(box), ShapeRule::kFixed);
}

void load_tensor(const at::Tensor& tensor, const TensorBox* box, StateReader& in) {
  request_tensor(in, "", tensor, copy_of(box));
}

}  // namespace ratoon
