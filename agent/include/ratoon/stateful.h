// Stateful: an object whose state is saved in a checkpoint and restored from it.
//
//   class Reservoir : public ratoon::Stateful {
//     std::string save_state() const override { return encode(samples_); }
//     void load_state(std::string_view state) override { samples_ = decode(state); }
//   };
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <ratoon/state.h>

namespace ratoon {

class Stateful {
 public:
  virtual ~Stateful();  // a session that still tracks the object refuses its next save

  // Returns the full state as bytes, from which load_state() restores the object exactly.
  [[nodiscard]] virtual std::string save_state() const = 0;

  // Restores a state that save_state() of the same version of the class returned; throws an exception for any
  // other bytes.
  virtual void load_state(std::string_view state) = 0;

  // Whether the states of all ranks add up to one sum, as in Metrics. If adds_up_over_ranks() is true, Ratoon
  // calls load_states() instead of load_state().
  [[nodiscard]] virtual bool adds_up_over_ranks() const { return false; }
  // Restores the sum of the states of one or several ranks. If `states` is empty, the object begins with an
  // empty sum. If the number of ranks changes, each saved state is given to exactly one rank, so the sum over
  // all ranks does not change.
  virtual void load_states(const std::vector<std::string>& states) {
    for (const std::string& state : states) load_state(state);
  }

  // The memory, on the CPU or an accelerator, whose contents save_state() returns. Ratoon refuses a tracked
  // optimizer that changes parameters which no tracked object saves. saved_memory() reports the parameters
  // that this object saves.
  [[nodiscard]] virtual std::vector<StateWriter::Memory> saved_memory() const { return {}; }

  // Whether the state is a position in the data, which --load-parts=state does not load.
  [[nodiscard]] virtual bool is_position() const { return false; }
};

}  // namespace ratoon
