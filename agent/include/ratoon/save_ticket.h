// SaveTicket: how far one save has come. Levels come in order, and each can be waited for.
//
//   ratoon::SaveTicket best = session.save("the lowest loss so far");
//   ...                                                                // a few steps on
//   const auto stored = best.wait(ratoon::SaveLevel::kStored, std::chrono::seconds(30));
//   if (!stored) std::cerr << stored.error().message() << "\n";
//
// The save is that of the step under way, or of the next one where the ranks agree once a step, which the
// run's last step does not have: it begins when that step ends.
//
// Thread contract: any thread; copies are of one save.
#pragma once

#include <chrono>
#include <memory>

#include <ratoon/result.h>

namespace ratoon {

enum class SaveLevel {
  kStaged,     // copied: the tensors may change, and the process may die if its slots outlive it
  kWritten,    // this rank's pack is on the disk
  kCommitted,  // those of all ranks are, and the manifest: a start resumes from it
  kStored,     // each of the run's stores has it, or a newer one
};

class SaveTicket {
 public:
  SaveTicket() = default;  // of no save

  // kTimeout if it takes longer, another error if it will never come. Zero only looks.
  [[nodiscard]] Result<void> wait(SaveLevel level, std::chrono::nanoseconds at_most) const;

 protected:
  struct State;
  explicit SaveTicket(std::shared_ptr<State> state) : state_(std::move(state)) {}

  std::shared_ptr<State> state_;
};

}  // namespace ratoon
