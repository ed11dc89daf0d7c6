// CommitPause: the time for which a writer pauses between two checks whether a checkpoint is committed. Every
// check costs file system calls on every rank, so the pause grows with the time that the writer has waited.
// The pause is at most an eighth of this time, so the writer notices a commit soon.
#pragma once

#include <algorithm>
#include <chrono>

#include "base/core/clock.h"

namespace ratoon::checkpoint {

class CommitPause {
 public:
  // Call reset() after the writer has made progress, so that the next pause is short.
  void reset() { waited_ = Duration(0); }
  [[nodiscard]] Duration next() {
    const Duration pause = std::clamp<Duration>(waited_ / kPauseDivisor, kMin, kMax);
    waited_ += pause;
    return pause;
  }

 private:
  static constexpr int kPauseDivisor = 8;
  static constexpr Duration kMin = std::chrono::milliseconds(10);
  static constexpr Duration kMax = std::chrono::seconds(1);

  Duration waited_{0};
};

}  // namespace ratoon::checkpoint
