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

  // Where the memory lies, on whatever device, whose contents save_state() gives: for a model whose
  // parameters a tracked optimizer changes, which is refused where no tracked object has them.
  [[nodiscard]] virtual std::vector<StateWriter::Memory> saved_memory() const { return {}; }

  // Whether it says which samples come next: --load-parts state leaves that behind.
  [[nodiscard]] virtual bool is_position() const { return false; }
};

}  // namespace ratoon
