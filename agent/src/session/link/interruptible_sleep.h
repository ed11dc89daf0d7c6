// InterruptibleSleep: a sleep that another thread can end. The sleep also ends when the runner that started
// this process has ended.
#pragma once

#include "base/core/clock.h"
#include "base/core/unique_fd.h"

namespace ratoon::session {

class InterruptibleSleep {
 public:
  enum Reason { kTimeUp, kNotified, kLifelineEnded };

  InterruptibleSleep();

  // Ends a sleep, from any thread. If no thread sleeps now, the next sleep ends at once.
  void notify() const;
  // `lifeline_fd` is a pipe without data, which reads end-of-file once its writer has ended; -1: there is no
  // pipe.
  [[nodiscard]] Reason sleep(Duration at_most, int lifeline_fd) const;

 private:
  UniqueFd event_;
};

}  // namespace ratoon::session
