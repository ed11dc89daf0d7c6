// WatchedDisk: a Disk that records for how long its current call has been running. A file operation of the
// kernel has no timeout, but another thread can see that the operation hangs.
//
// Thread contract: one thread at a time uses the disk. Any thread may call current_call_duration() and
// record_progress(), even while another thread is in a call of the disk.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "agent/src/checkpoint/disk/disk.h"
#include "base/core/clock.h"

namespace ratoon::checkpoint {

class CallTimer {
 public:
  explicit CallTimer(std::shared_ptr<const Clock> clock) : clock_(std::move(clock)) {}

  template <class Call>
  auto operator()(const Call& call) {
    begin_time_.store(clock_->now().since_boot.count(), std::memory_order_relaxed);
    const EndOfCall end(begin_time_);  // also if it throws
    return call();
  }
  // Records that the running call has made progress: from now on current_call_duration() returns the time
  // since this moment and not since the beginning of the call.
  void record_progress() {
    Duration::rep began = begin_time_.load(std::memory_order_relaxed);
    if (began != kNoCall) begin_time_.compare_exchange_strong(began, clock_->now().since_boot.count());
  }
  // Returns how long the current call has been running, or nothing if no call is running.
  [[nodiscard]] std::optional<Duration> current_call_duration() const {
    const Duration::rep began = begin_time_.load(std::memory_order_relaxed);
    if (began == kNoCall) return std::nullopt;
    return clock_->now().since_boot - Duration(began);
  }

 private:
  static constexpr Duration::rep kNoCall = -1;
  struct EndOfCall {
    explicit EndOfCall(std::atomic<Duration::rep>& of) : began(of) {}
    ~EndOfCall() { began.store(kNoCall, std::memory_order_relaxed); }
    EndOfCall(const EndOfCall&) = delete;
    EndOfCall& operator=(const EndOfCall&) = delete;
    std::atomic<Duration::rep>& began;
  };
  std::shared_ptr<const Clock> clock_;
  std::atomic<Duration::rep> begin_time_{kNoCall};
};

// A Disk that passes every call on to `disk`, and records in `watch` when the call begins and ends.
[[nodiscard]] std::shared_ptr<Disk> watch_disk(std::shared_ptr<Disk> disk, std::shared_ptr<CallTimer> watch);

}  // namespace ratoon::checkpoint
