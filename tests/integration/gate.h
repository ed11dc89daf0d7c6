// A gate for the steps of a trainer: a file says how many steps may be made, and a loop waits before the next
// one. A test can therefore harm a process at an exact step, and no process ends before the test allows it,
// on a machine with any load.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <limits>
#include <thread>

#include <ratoon/session.h>

namespace ratoon::test {

class Gate {
 public:
  // The gate of the file that TEST_STEP_GATE names; without the variable every step passes.
  Gate() : path_(std::getenv("TEST_STEP_GATE")) {}

  // Waits until `step`, counted from 0, may be made. Throws as a collective does if the world changes during
  // the wait; `while_held` is called again and again.
  void wait_for(std::uint64_t step, const Session& session, const std::function<void()>& while_held = {}) {
    while (step >= passing_) {
      session.check();
      passing_ = look();
      if (step < passing_) return;
      if (while_held) while_held();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

 private:
  [[nodiscard]] std::uint64_t look() const {
    if (path_ == nullptr) return std::numeric_limits<std::uint64_t>::max();
    std::uint64_t steps = 0;
    std::ifstream(path_) >> steps;
    return steps;
  }

  const char* path_;
  std::uint64_t passing_ = 0;
};

}  // namespace ratoon::test
