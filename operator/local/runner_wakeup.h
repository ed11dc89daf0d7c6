// RunnerWakeup: the only object on which a runner sleeps. Children that end, signals of the user and
// notifications of other threads end the sleep.
#pragma once

#include <functional>

#include <ratoon/result.h>

#include "base/core/clock.h"
#include "base/core/unique_fd.h"

namespace ratoon::local {

class RunnerWakeup {
 public:
  // Blocks SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2 for this thread and for threads that it
  // starts later, and reads them here. A signal that was inherited as ignored, for example after nohup or
  // behind '&' in a script, stays ignored.
  [[nodiscard]] static Result<RunnerWakeup> open();

  // Readable data on this descriptor ends the sleep as well; -1: no descriptor.
  void watch(int fd) { watched_ = fd; }
  // The function is called regularly during sleeps; it must not block.
  void call_while_asleep(Duration every, std::function<void()> act) {
    pause_ = every;
    act_ = std::move(act);
  }
  // The function is called during a sleep with SIGUSR1 or SIGUSR2, whose meaning the trainers know.
  void pass_signals_to(std::function<void(int number)> act) { pass_ = std::move(act); }
  // From any thread.
  void notify() const;
  // Returns the number of stop requests during this sleep: SIGINT, SIGTERM, or SIGHUP (the terminal was
  // closed).
  [[nodiscard]] int sleep(Duration at_most) const;

 private:
  RunnerWakeup(UniqueFd signals, UniqueFd news) : signals_(std::move(signals)), news_(std::move(news)) {}

  // Sleeps until an event, or for at most this long.
  void wait(Duration at_most) const;

  UniqueFd signals_;
  UniqueFd news_;
  int watched_ = -1;
  Duration pause_{0};
  std::function<void()> act_{};
  std::function<void(int number)> pass_{};
};

}  // namespace ratoon::local
