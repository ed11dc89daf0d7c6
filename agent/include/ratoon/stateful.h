// Stateful: anything whose state goes into a checkpoint and comes back from it.
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

  // All that is needed to go on exactly from here, as bytes.
  [[nodiscard]] virtual std::string save_state() const = 0;

  // Takes back what save_state() of the same version gave. Throws if it is something else.
  virtual void load_state(std::string_view state) = 0;

  // Whether ranks add it up, as they do Metrics: then load_states() is called in place of load_state().
  [[nodiscard]] virtual bool adds_up_over_ranks() const { return false; }
  // Takes over what one or several ranks saved, or begins anew where there are none: in a world of another
  // size each saved state goes to one rank, so that the sum over all ranks is what it was.
  virtual void load_states(const std::vector<std::string>& states) {
    for (const std::string& state : states) load_state(state);
  }

  // Where the memory lies, on whatever device, whose contents save_state() gives: for a model whose
  // parameters a tracked optimizer changes, which is refused where no tracked object has them.
  [[nodiscard]] virtual std::vector<StateWriter::Memory> saved_memory() const { return {}; }

  // Whether it says which samples come next: --load-parts state leaves that behind.
  [[nodiscard]] virtual bool is_position() const { return false; }
};

}  // namespace ratoon
