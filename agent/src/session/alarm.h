// Alarm: a sleep that another thread can end, and that also ends when the runner that started us is gone.
#pragma once

#include "base/core/clock.h"
#include "base/core/unique_fd.h"

namespace ratoon::session {

class Alarm {
 public:
  enum Reason { kTimeUp, kNotified, kLifelineEnded };

  Alarm();

  // From any thread. A notification while nobody sleeps ends the next sleep at once.
  void notify() const;
  // `lifeline_fd` is a pipe that nobody writes to and that reads end-of-file once its writer is gone; -1:
  // none.
  [[nodiscard]] Reason sleep(Duration at_most, int lifeline_fd) const;

 private:
  UniqueFd event_;
};

}  // namespace ratoon::session
