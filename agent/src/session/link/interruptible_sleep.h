// InterruptibleSleep: a wait with a time limit that another thread can end early. The wait also ends when the
// runner (such as `ratoon run`) that started this process has ended.
#pragma once

#include "base/core/clock.h"
#include "base/core/unique_fd.h"

namespace ratoon::session {

class InterruptibleSleep {
 public:
  enum Reason { kTimeUp, kNotified, kLifelineEnded };

  InterruptibleSleep();

  // Ends a sleep of another thread. If no thread sleeps now, the next sleep ends at once.
  void notify() const;
  // `lifeline_fd` is a pipe from the runner, from which this process reads end-of-file when the runner has
  // ended; -1: there is no pipe.
  [[nodiscard]] Reason sleep(Duration at_most, int lifeline_fd) const;

 private:
  UniqueFd event_;
};

}  // namespace ratoon::session
