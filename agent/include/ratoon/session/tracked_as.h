// Options of Session::track() for objects of weights and for plain memory of the program.
//   session.track("replay buffer", buffer, {.is_weight = false});
//   session.track("observations", observations, {.is_weight = false, .is_saved_in_parts = true});
#pragma once

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include <ratoon/state.h>
#include <ratoon/tensor_view.h>

namespace ratoon {

struct TrackedAs {
  bool is_weight = true;  // false: an object of weights, such as a tensor, that is none: a replay buffer
  // If true, a save writes only those parts of the object's large tensors (of 1 MiB and more) that changed
  // since the last committed checkpoint. Set is_saved_in_parts for large objects that change in few places
  // between two saves.
  bool is_saved_in_parts = false;
};
struct TrackedMemory {
  TensorShape shape{};             // empty: one dimension
  bool is_weight = false;          // --load-from fills it
  bool is_saved_in_parts = false;  // as in TrackedAs
};

// Passes all calls to `outer`, and marks every tensor as saved in parts.
class InPartsWriter final : public StateWriter {
 public:
  explicit InPartsWriter(StateWriter& outer) : outer_writer_(&outer) {}

  using StateWriter::tensor;
  void tensor(TensorView view, std::shared_ptr<const void> owner) override {
    view.is_saved_in_parts = true;
    outer_writer_->tensor(std::move(view), std::move(owner));
  }
  [[noreturn]] void refuse(const std::string& why) const override {
    outer_writer_->refuse(why);
    std::abort();  // never reached: GCC does not see that a virtual function does not return
  }
  void lies_at(const Memory& memory) override { outer_writer_->lies_at(memory); }
  void changes(const std::string& what, const Memory& memory) override {
    outer_writer_->changes(what, memory);
  }

 private:
  StateWriter* outer_writer_;
};

template <class T>
void save_tracked(T& object, const TrackedAs& as, StateWriter& out) {
  InPartsWriter in_parts(out);
  TrackAdapter<T>::save(object, as.is_saved_in_parts ? in_parts : out);
}

}  // namespace ratoon
