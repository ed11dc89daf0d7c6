// FixedShapes: refuses a save if the shape of a tensor with TensorView::has_fixed_shape has changed. A resume
// can restore such a tensor only in the shape in which the program creates it. Without this check the run
// would save checkpoints from which it cannot resume.
#pragma once

#include <map>
#include <string>

#include "agent/src/session/state/tracked_objects.h"

namespace ratoon::session {

class FixedShapes {
 public:
  // Records the shapes that the tensors have at the beginning of an attempt. These are the shapes in which
  // the program creates its objects.
  void begin(const CollectedState& state);
  // From now on check() accepts every shape, because the program reads the saved state before it creates its
  // objects.
  void allow_changes() { are_changes_allowed_ = true; }
  // Throws a Failure if a tensor has another type or shape than at the beginning, is new, or is missing.
  void check(const CollectedState& state) const;

 private:
  using Forms = std::map<std::string, std::string>;  // the type and shape of each tensor, as in messages
  [[nodiscard]] static Forms forms_of(const CollectedState& state);

  Forms forms_;
  bool are_changes_allowed_ = false;
};

}  // namespace ratoon::session
