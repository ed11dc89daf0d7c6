#include "agent/src/session/tracked/fixed_shapes.h"

#include <ratoon/failure.h>

#include "agent/src/checkpoint/pack/boxes.h"
#include "agent/src/checkpoint/pack/header/safetensors_types.h"
#include "base/contract/exit_code.h"

namespace ratoon::session {
namespace {

using checkpoint::in_quotes;

[[noreturn]] void refuse(const std::string& change) {
  throw Failure(
      static_cast<int>(ExitCode::kConfiguration),
      change +
          ": the next start would create it as it was, and could not load this state; create it in its "
          "final shape, track a std::vector, which may change its size, or call session.peek() before "
          "the objects are created, and create them in the saved shape");
}

}  // namespace

FixedShapes::Forms FixedShapes::forms_of(const CollectedState& state) {
  Forms forms;
  for (const TensorView& tensor : state.tensors)
    if (tensor.has_fixed_shape)
      forms[tensor.name] = std::string(checkpoint::safetensors_name(tensor.type)) + " of shape [" +
                           checkpoint::to_text(tensor.shape) + "]";
  return forms;
}

void FixedShapes::begin(const CollectedState& state) {
  forms_ = forms_of(state);
}

void FixedShapes::check(const CollectedState& state) const {
  if (are_changes_allowed_) return;
  const Forms now = forms_of(state);
  for (const auto& [name, form] : now) {
    const auto before = forms_.find(name);
    if (before == forms_.end())
      refuse("tracked tensor " + in_quotes(name) + " did not exist when the training loop began");
    if (before->second != form)
      refuse("tracked tensor " + in_quotes(name) + " is " + form + " and was " + before->second +
             " when the training loop began");
  }
  for (const auto& [name, form] : forms_)
    if (!now.contains(name)) refuse("tracked tensor " + in_quotes(name) + " no longer exists");
}

}  // namespace ratoon::session
