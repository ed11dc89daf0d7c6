// ProgressRate: computes a run's steps per second from its recent heartbeats. Pure.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "base/core/clock.h"

namespace ratoon::local {

class ProgressRate {
 public:
  // The progress at one time, in steps and in the unit of the training's end (such as epochs).
  struct Point {
    Timestamp at;
    std::uint64_t steps = 0;
    std::uint64_t position = 0;
  };
  void note(const Point& point);
  // Call this when another world begins, because points of the earlier world do not count for the new rate.
  void restart() { points_.clear(); }

  // Returns the rate over the last half minute (or since the world began), or nothing without progress.
  [[nodiscard]] std::optional<double> steps_per_second() const;
  [[nodiscard]] std::optional<double> seconds_to(std::uint64_t position) const;

 private:
  std::deque<Point> points_;  // each with more steps than the one before
};

}  // namespace ratoon::local
