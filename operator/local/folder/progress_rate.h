// ProgressRate: computes a run's steps per second from its recent heartbeats. Pure.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "base/core/clock.h"

namespace ratoon::local {

class ProgressRate {
 public:
  // The progress of the training at one time: in steps, and as a position in the unit of the training's end,
  // such as epochs.
  struct Point {
    Timestamp at;
    std::uint64_t steps = 0;
    std::uint64_t position = 0;
  };
  void add_point(const Point& point);
  // Call restart() when a world begins: points of an earlier world do not count for the new world's rate.
  void restart() { points_.clear(); }

  // Returns the rate over the last half minute (of this world only), or nothing if the rate is unknown.
  [[nodiscard]] std::optional<double> steps_per_second() const;
  [[nodiscard]] std::optional<double> seconds_to(std::uint64_t position) const;

 private:
  std::deque<Point> points_;  // each with more steps than the one before
};

}  // namespace ratoon::local
