// Options of Session::track() for objects of weights and for plain memory of the program.
//   session.track("replay buffer", buffer, {.is_weight = false});
#pragma once
#include <ratoon/tensor_view.h>

namespace ratoon {

struct TrackedAs {
  bool is_weight = true;  // false: an object of weights, such as a tensor, that is none: a replay buffer
};
struct TrackedMemory {
  TensorShape shape{};     // empty: one dimension
  bool is_weight = false;  // --load-from fills it
};

}  // namespace ratoon
