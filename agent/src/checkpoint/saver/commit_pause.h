// CommitPause: the pause of a writer between two checks whether a checkpoint is committed. Each check of each
// rank costs file system calls, so the pause grows with the time that was waited. The pause is at most an
// eighth of the time that was waited, so a commit is noticed with at most that delay.
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
    const Duration pause = std::clamp<Duration>(waited_ / kPart, kMin, kMax);
    waited_ += pause;
    return pause;
  }

 private:
  static constexpr int kPart = 8;
  static constexpr Duration kMin = std::chrono::milliseconds(10);
  static constexpr Duration kMax = std::chrono::seconds(1);

  Duration waited_{0};
};

}  // namespace ratoon::checkpoint
