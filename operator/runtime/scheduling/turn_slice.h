// TurnSlice: how long a worker may carry out actions for one job before it handles another one. If a job has
// more actions, such as thousands of pods, it continues after the other waiting jobs.
#pragma once

#include <chrono>

#include "base/core/clock.h"

namespace ratoon::runtime {

class TurnSlice {
 public:
  static constexpr Duration kSliceLength = std::chrono::milliseconds(250);

  // The constructor begins the time slice.
  explicit TurnSlice(const Clock& clock) : clock_(clock), end_(clock.now() + kSliceLength) {}

  // Returns whether the worker may begin one more action. The first action is always allowed, so each turn
  // makes progress.
  [[nodiscard]] bool begin_action() {
    if (has_begun_ && clock_.now() >= end_) is_cut_ = true;
    has_begun_ = true;
    return !is_cut_;
  }
  // Returns whether an action has to wait for the next turn.
  [[nodiscard]] bool is_cut() const { return is_cut_; }

 private:
  const Clock& clock_;
  const Timestamp end_;
  bool has_begun_ = false;
  bool is_cut_ = false;
};

}  // namespace ratoon::runtime
