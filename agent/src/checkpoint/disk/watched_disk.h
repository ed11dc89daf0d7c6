// WatchedDisk: a disk that shows for how long a call has been running. A call into the kernel cannot be given
// a deadline, but another thread can see that the call hangs.
//
// Thread contract: one thread at a time uses the disk. Any thread may call under_way(), and go_on() during a
// call.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "agent/src/checkpoint/disk/disk.h"
#include "base/core/clock.h"

namespace ratoon::checkpoint {

class CallWatch {
 public:
  explicit CallWatch(std::shared_ptr<const Clock> clock) : clock_(std::move(clock)) {}

  template <class Call>
  auto operator()(const Call& call) {
    began_.store(clock_->now().since_boot.count(), std::memory_order_relaxed);
    const EndOfCall end(began_);  // also if it throws
    return call();
  }
  // Records that the running call has made progress: its time is counted from now on.
  void go_on() {
    Duration::rep began = began_.load(std::memory_order_relaxed);
    if (began != kIdle) began_.compare_exchange_strong(began, clock_->now().since_boot.count());
  }
  // Returns how long the current call has been running, or nothing if no call is running.
  [[nodiscard]] std::optional<Duration> under_way() const {
    const Duration::rep began = began_.load(std::memory_order_relaxed);
    if (began == kIdle) return std::nullopt;
    return clock_->now().since_boot - Duration(began);
  }

 private:
  static constexpr Duration::rep kIdle = -1;
  struct EndOfCall {
    explicit EndOfCall(std::atomic<Duration::rep>& of) : began(of) {}
    ~EndOfCall() { began.store(kIdle, std::memory_order_relaxed); }
    EndOfCall(const EndOfCall&) = delete;
    EndOfCall& operator=(const EndOfCall&) = delete;
    std::atomic<Duration::rep>& began;
  };
  std::shared_ptr<const Clock> clock_;
  std::atomic<Duration::rep> began_{kIdle};
};

// Passes every call on to `disk`, and times it with `watch`.
[[nodiscard]] std::shared_ptr<Disk> watch_disk(std::shared_ptr<Disk> disk, std::shared_ptr<CallWatch> watch);

}  // namespace ratoon::checkpoint
