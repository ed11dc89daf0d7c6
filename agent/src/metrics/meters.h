// Meters: the numbers that a process publishes about its training. The training thread writes the meters, and
// the thread that serves /metrics reads them. The meters are atomics, so that the training thread and the
// thread of /metrics never wait for each other.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/src/metrics/values.h"
#include "base/core/clock.h"

namespace ratoon::metrics {

// DurationSum is a sum of durations, which only grows.
class DurationSum {
 public:
  void add(Duration d) { nanoseconds_.fetch_add(d.count(), std::memory_order_relaxed); }
  [[nodiscard]] Duration total() const { return Duration(nanoseconds_.load(std::memory_order_relaxed)); }

 private:
  std::atomic<Duration::rep> nanoseconds_{0};
};

// StepTimes is a histogram of the durations of steps.
class StepTimes {
 public:
  // kBucketBoundSeconds has the upper bounds of the histogram's buckets, in seconds. Steps that are longer
  // than the last bound are counted in an additional bucket.
  static constexpr std::array<double, 15> kBucketBoundSeconds = {
      0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300};

  void observe(Duration took) {
    const auto bound =
        std::lower_bound(kBucketBoundSeconds.begin(), kBucketBoundSeconds.end(), seconds(took));
    counts_[static_cast<std::size_t>(bound - kBucketBoundSeconds.begin())].fetch_add(
        1, std::memory_order_relaxed);
    sum_.add(took);
  }
  [[nodiscard]] std::uint64_t count(std::size_t bucket) const {
    return counts_[bucket].load(std::memory_order_relaxed);
  }
  [[nodiscard]] Duration sum() const { return sum_.total(); }

 private:
  std::array<std::atomic<std::uint64_t>, kBucketBoundSeconds.size() + 1> counts_{};
  DurationSum sum_;
};

// LastEventTime is the time at which an event last occurred. age() returns nothing before the first event.
class LastEventTime {
 public:
  void set(Timestamp at) { nanoseconds_.store(at.since_boot.count(), std::memory_order_relaxed); }
  [[nodiscard]] Timestamp at() const { return {Duration(nanoseconds_.load(std::memory_order_relaxed))}; }
  [[nodiscard]] std::optional<Duration> age(Timestamp now) const {
    const auto at = nanoseconds_.load(std::memory_order_relaxed);
    if (at == 0) return std::nullopt;
    return std::max(now.since_boot - Duration(at), Duration(0));
  }

 private:
  std::atomic<Duration::rep> nanoseconds_{0};
};

// LastRecovery has the duration of each phase of the last recovery, as measured by this process.
struct LastRecovery {
  std::atomic<Duration::rep> join{0};
  std::atomic<Duration::rep> load{0};
  std::atomic<Duration::rep> first_step{0};
};

// RejoinCounts counts, by cause, how often this process left an attempt to join the next one.
struct RejoinCounts {
  std::atomic<std::uint64_t> world_changed{0};
  std::atomic<std::uint64_t> handed_over{0};
  std::atomic<std::uint64_t> checkpoint_unreadable{0};
};

// LostMemberCounts has the numbers of members (pods or process groups) that the run has lost, by cause. The
// coordinator of the run counted the lost members until this attempt began. If there is no coordinator, lost
// members are not counted.
struct LostMemberCounts {
  std::atomic<bool> are_counted{false};
  std::atomic<std::uint64_t> disruption{0};
  std::atomic<std::uint64_t> application{0};
  std::atomic<std::uint64_t> hung{0};
};

// A TimeLedgerReader returns the seconds that this process has spent so far, for each purpose. Set a
// TimeLedgerReader before the first scrape. Any thread may call the TimeLedgerReader.
using TimeLedgerReader = std::function<std::vector<std::pair<std::string_view, double>>()>;

// StoreMeters has the newest checkpoint in one store, and the number of failed copies to this store.
struct StoreMeters {
  explicit StoreMeters(std::string where) : uri(std::move(where)) {}
  const std::string uri;
  std::atomic<std::uint64_t> durable_step{0};
  std::atomic<std::uint64_t> missed_copies{0};
  LastEventTime durable_since;
};

struct Meters {
  std::atomic<std::uint64_t> attempt{0};
  std::atomic<std::uint64_t> world_size{0};
  std::atomic<std::uint64_t> step{0};
  std::atomic<std::uint64_t> durable_step{0};
  std::atomic<std::uint64_t> replayed_steps{0};
  std::atomic<std::uint64_t> missed_saves{0};
  std::atomic<std::uint64_t> unchanged_saves{0};
  std::deque<StoreMeters> stores;  // complete before the first scrape
  LastEventTime durable_since;
  std::atomic<double> progress{0};  // 0 to 1
  std::atomic<std::uint64_t> samples{0};
  std::atomic<std::uint64_t> epoch_samples{0};  // of one epoch; 0: the training follows no stream
  std::atomic<std::uint64_t> replayed_samples{0};
  ReportedValues values;
  RejoinCounts rejoins;
  LostMemberCounts lost_members;
  LastRecovery last_recovery;
  TimeLedgerReader time_ledger;      // of this process
  TimeLedgerReader run_time_ledger;  // of the run: empty except on rank 0
  DurationSum save_stall;
  StepTimes step_times;
};

}  // namespace ratoon::metrics
