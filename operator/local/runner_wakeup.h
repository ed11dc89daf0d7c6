// RunnerWakeup: the main loop of `ratoon run` sleeps only in RunnerWakeup::sleep(). Children that end,
// signals of the user and notifications by other threads end the sleep.
#pragma once

#include <functional>

#include <ratoon/result.h>

#include "base/core/clock.h"
#include "base/core/unique_fd.h"

namespace ratoon::local {

class RunnerWakeup {
 public:
  // Blocks SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2 for this thread and for threads that it
  // starts later; sleep() reads them instead. If this process inherited a signal as ignored, for example from
  // nohup or '&' in a script, it stays ignored.
  [[nodiscard]] static Result<RunnerWakeup> open();

  // sleep() also ends when this file descriptor is readable; -1 means no descriptor.
  void watch(int fd) { watched_fd_ = fd; }
  // After this call, sleep() calls `act` at the interval `every` while it sleeps. `act` must not block.
  void call_while_asleep(Duration every, std::function<void()> act) {
    call_interval_ = every;
    on_interval_ = std::move(act);
  }
  // Makes sleep() call `act` for SIGUSR1 and SIGUSR2, so that `act` can pass these signals to the trainers.
  void pass_signals_to(std::function<void(int number)> act) { on_signal_ = std::move(act); }
  // Ends the current call of sleep() or, if no thread sleeps, the next call. Any thread may call this
  // function.
  void notify() const;
  // Returns how many requests to stop came during this sleep. SIGINT, SIGTERM and SIGHUP (the terminal
  // closed) are such requests.
  [[nodiscard]] int sleep(Duration at_most) const;

 private:
  RunnerWakeup(UniqueFd signals, UniqueFd news)
      : signal_fd_(std::move(signals)), notification_(std::move(news)) {}

  // Sleeps until an event occurs, at most this long.
  void wait(Duration at_most) const;

  UniqueFd signal_fd_;
  UniqueFd notification_;
  int watched_fd_ = -1;
  Duration call_interval_{0};
  std::function<void()> on_interval_{};
  std::function<void(int number)> on_signal_{};
};

}  // namespace ratoon::local
