// SaveTicket: the progress of one save. A save reaches the levels of SaveLevel one after the other, and a
// program can wait for each level.
//
//   ratoon::SaveTicket best = session.save("the lowest loss so far");
//   ...                                                                // some steps later
//   const auto stored = best.wait(ratoon::SaveLevel::kStored, std::chrono::seconds(30));
//   if (!stored) std::cerr << stored.error().message() << "\n";
//
// If the ranks call Session::agree() in every step, Ratoon makes a requested save when the next step ends.
// Without agree(), and in the run's last step, Ratoon makes the save when the current step ends.
//
// Thread contract: any thread may call any function. Copies of a ticket refer to the same save.
#pragma once

#include <chrono>
#include <memory>

#include <ratoon/result.h>

namespace ratoon {

enum class SaveLevel {
  kStaged,     // copied: the tensors may change, and the process may die if its slots outlive it
  kWritten,    // this rank's pack is on the disk
  kCommitted,  // the packs of all ranks and the manifest are on the disk: a start resumes from it
  kStored,     // each of the run's stores has it, or a newer one
};

class SaveTicket {
 public:
  SaveTicket() = default;  // refers to no save

  // Waits until the save reaches the SaveLevel `level`. Returns kTimeout if the wait takes longer than
  // `at_most`, or another error if the save can never reach the level. With `at_most` = 0, wait() checks
  // whether the level is reached and does not wait.
  [[nodiscard]] Result<void> wait(SaveLevel level, std::chrono::nanoseconds at_most) const;

 protected:
  struct State;
  explicit SaveTicket(std::shared_ptr<State> state) : state_(std::move(state)) {}

  std::shared_ptr<State> state_;
};

}  // namespace ratoon
