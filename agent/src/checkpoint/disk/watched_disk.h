// WatchedDisk: a disk whose calls can be seen to hang. A call into the kernel cannot be given a deadline; but
// who waits for one can know since when it has been going on.
//
// Thread contract: used by one thread at a time, looked at from any; go_on() from any, during a call.
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
    const EndOfCall end(began_);  // also where it throws
    return call();
  }
  // The call that is going on has done something, and counts as begun now.
  void go_on() {
    Duration::rep began = began_.load(std::memory_order_relaxed);
    if (began != kIdle) began_.compare_exchange_strong(began, clock_->now().since_boot.count());
  }
  // How long the call that is going on has been; none goes on: nothing.
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

// Every call goes on to `disk`, under the eyes of `watch`.
[[nodiscard]] std::shared_ptr<Disk> watch_disk(std::shared_ptr<Disk> disk, std::shared_ptr<CallWatch> watch);

}  // namespace ratoon::checkpoint
