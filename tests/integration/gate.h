// Steps that a test lets pass: a file says how many, and a loop waits before the next one. So a process can
// be hurt at a step, and none is at its end before the test wants that, however busy the machine is.
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
  // Of the file that TEST_STEP_GATE names; without it every step passes.
  Gate() : path_(std::getenv("TEST_STEP_GATE")) {}

  // Until `step`, counted from 0, may be made. Leaves as a collective does when the world changes meanwhile;
  // `while_held` is called again and again.
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
