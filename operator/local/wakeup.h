// Wakeup: the one place where a runner sleeps. Children that end, signals of the user and news from other
// threads end the sleep.
#pragma once

#include <optional>

#include <ratoon/result.h>

#include "base/core/clock.h"
#include "base/core/unique_fd.h"

namespace ratoon::local {

class Wakeup {
 public:
  // Blocks SIGCHLD, SIGINT, SIGTERM and SIGHUP for this thread and those it starts later, and reads them
  // here. What was inherited as ignored, as after nohup or behind '&' of a script, stays ignored.
  [[nodiscard]] static Result<Wakeup> open();

  // This one wakes us as well, once there is something to read; -1: none does.
  void watch(int fd) { watched_ = fd; }
  // From any thread.
  void notify() const;
  // Returns how often the user asked to stop (SIGINT, SIGTERM, or SIGHUP: the terminal is gone) during this
  // sleep.
  [[nodiscard]] int sleep(Duration at_most) const;

 private:
  Wakeup(UniqueFd signals, UniqueFd news) : signals_(std::move(signals)), news_(std::move(news)) {}

  UniqueFd signals_;
  UniqueFd news_;
  int watched_ = -1;
};

}  // namespace ratoon::local
