// Pace: how fast a run goes on, from what its beats said lately. Pure.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "base/core/clock.h"

namespace ratoon::local {

class Pace {
 public:
  // Where it stands, in steps and in the unit of its end.
  struct Point {
    Timestamp at;
    std::uint64_t steps = 0;
    std::uint64_t position = 0;
  };
  void note(const Point& point);
  // Another world: what was before says nothing about it.
  void restart() { points_.clear(); }

  // Over the last half minute, or since the world began; nothing while nothing moved.
  [[nodiscard]] std::optional<double> steps_per_second() const;
  [[nodiscard]] std::optional<double> seconds_to(std::uint64_t position) const;

 private:
  std::deque<Point> points_;  // each further on than the one before
};

}  // namespace ratoon::local
