// RunnerWakeup: the main loop of `ratoon run` sleeps only in its function sleep(). Children that end, signals
// of the user and notifications by other threads end the sleep.
#pragma once

#include <functional>

#include <ratoon/result.h>

#include "base/core/clock.h"
#include "base/core/unique_fd.h"

namespace ratoon::local {

class RunnerWakeup {
 public:
  // Blocks SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2 for this thread and for threads that it
  // starts later; sleep() reads them instead. A signal that this process inherited as ignored, for example
  // from nohup or after '&' in a script, stays ignored.
  [[nodiscard]] static Result<RunnerWakeup> open();

  // Makes readable data on this descriptor end the sleep, too; -1: no descriptor.
  void watch(int fd) { watched_ = fd; }
  // Makes each sleep call `act` at this interval; `act` must not block.
  void call_while_asleep(Duration every, std::function<void()> act) {
    pause_ = every;
    act_ = std::move(act);
  }
  // Makes a sleep call `act` for SIGUSR1 and SIGUSR2, so that it can pass these signals to the trainers.
  void pass_signals_to(std::function<void(int number)> act) { pass_ = std::move(act); }
  // Ends the current or the next sleep. Any thread may call this function.
  void notify() const;
  // Returns how many stop requests came during this sleep, by SIGINT, SIGTERM or SIGHUP (the terminal
  // closed).
  [[nodiscard]] int sleep(Duration at_most) const;

 private:
  RunnerWakeup(UniqueFd signals, UniqueFd news) : signals_(std::move(signals)), news_(std::move(news)) {}

  // Sleeps until an event occurs, at most this long.
  void wait(Duration at_most) const;

  UniqueFd signals_;
  UniqueFd news_;
  int watched_ = -1;
  Duration pause_{0};
  std::function<void()> act_{};
  std::function<void(int number)> pass_{};
};

}  // namespace ratoon::local
