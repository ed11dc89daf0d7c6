// WatchedDisk: a Disk that records for how long its current call has been running. A file operation of the
// kernel has no timeout, but another thread can see that the operation hangs.
//
// Thread contract: one thread at a time uses the disk. Any thread may call under_way(), and also go_on()
// while another thread is in a call of the disk.
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
  // Records that the running call has made progress: under_way() counts the time of the call from this moment
  // on.
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

// A Disk that passes every call on to `disk`, and records in `watch` when the call begins and ends.
[[nodiscard]] std::shared_ptr<Disk> watch_disk(std::shared_ptr<Disk> disk, std::shared_ptr<CallWatch> watch);

}  // namespace ratoon::checkpoint
