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
  virtual ~Stateful() = default;

  // Returns the full state as bytes, so that the object can continue exactly from here.
  [[nodiscard]] virtual std::string save_state() const = 0;

  // Restores a state that save_state() of the same version returned; throws for any other bytes.
  virtual void load_state(std::string_view state) = 0;

  // Whether the state is summed over ranks, as Metrics is: load_states() is then called instead of
  // load_state().
  [[nodiscard]] virtual bool adds_up_over_ranks() const { return false; }
  // Takes over the states of one or several ranks, or starts empty if there are none. In a world of another
  // size each saved state goes to one rank, so the sum over all ranks does not change.
  virtual void load_states(const std::vector<std::string>& states) {
    for (const std::string& state : states) load_state(state);
  }

  // The memory, on any device, whose contents save_state() returns. A tracked optimizer is refused unless
  // tracked objects contain the parameters that it changes. saved_memory() reports the parameters that the
  // object contains.
  [[nodiscard]] virtual std::vector<StateWriter::Memory> saved_memory() const { return {}; }

  // Whether the state is a position in the data, which --load-parts state does not load.
  [[nodiscard]] virtual bool is_position() const { return false; }
};

}  // namespace ratoon
