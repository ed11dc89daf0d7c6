// Fence: the time until which this process may write to the API server. The elector extends the fence's time
// with each renewal, and ApiClient checks this time before each write, because a thread may be suspended
// between a decision and its write.
//
// Thread contract: every method may be called from any thread.
#pragma once

#include <atomic>

#include "base/core/clock.h"

namespace ratoon::runtime {

class Fence {
 public:
  void open_until(Timestamp end) { end_ = end; }
  void close() { end_ = Timestamp{}; }
  [[nodiscard]] bool is_open(Timestamp now) const { return now < end_.load(); }

 private:
  std::atomic<Timestamp> end_{};
};

}  // namespace ratoon::runtime
