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

// A sum of durations that only grows.
class Stopwatch {
 public:
  void add(Duration d) { nanoseconds_.fetch_add(d.count(), std::memory_order_relaxed); }
  [[nodiscard]] Duration total() const { return Duration(nanoseconds_.load(std::memory_order_relaxed)); }

 private:
  std::atomic<Duration::rep> nanoseconds_{0};
};

// A histogram of the durations of steps.
class StepTimes {
 public:
  // The upper bounds of the histogram's buckets, in seconds. Steps that are longer than the last bound are
  // counted in an additional bucket.
  static constexpr std::array<double, 15> kBounds = {0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5,
                                                     1,     2.5,   5,    10,    30,   60,  300};

  void observe(Duration took) {
    const auto bound = std::lower_bound(kBounds.begin(), kBounds.end(), seconds(took));
    counts_[static_cast<std::size_t>(bound - kBounds.begin())].fetch_add(1, std::memory_order_relaxed);
    sum_.add(took);
  }
  [[nodiscard]] std::uint64_t count(std::size_t bucket) const {
    return counts_[bucket].load(std::memory_order_relaxed);
  }
  [[nodiscard]] Duration sum() const { return sum_.total(); }

 private:
  std::array<std::atomic<std::uint64_t>, kBounds.size() + 1> counts_{};
  Stopwatch sum_;
};

// The time at which an event occurred last. age() returns nothing if the event has not occurred yet.
class Since {
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

// The duration of each phase of the last recovery, as this process measured it.
struct LastRecovery {
  std::atomic<Duration::rep> join{0};
  std::atomic<Duration::rep> load{0};
  std::atomic<Duration::rep> first_step{0};
};

// How often this process left an attempt to join the next one, by cause.
struct Rejoins {
  std::atomic<std::uint64_t> world_changed{0};
  std::atomic<std::uint64_t> handed_over{0};
  std::atomic<std::uint64_t> checkpoint_unreadable{0};
};

// The numbers of members (pods or process groups) that the run has lost, by cause, as its coordinator counted
// them when this attempt began. If there is no coordinator, losses are not counted.
struct LossMeters {
  std::atomic<bool> are_counted{false};
  std::atomic<std::uint64_t> disruption{0};
  std::atomic<std::uint64_t> application{0};
  std::atomic<std::uint64_t> hung{0};
};

// Returns the seconds that this process has spent so far, for each purpose. The function must be set before
// the first scrape, and any thread may call it.
using ReadLedger = std::function<std::vector<std::pair<std::string_view, double>>()>;

// The newest checkpoint in one store, and the number of copies to it that failed.
struct StoreMeters {
  explicit StoreMeters(std::string where) : uri(std::move(where)) {}
  const std::string uri;
  std::atomic<std::uint64_t> durable_step{0};
  std::atomic<std::uint64_t> missed_copies{0};
  Since durable_since;
};

struct Meters {
  std::atomic<std::uint64_t> attempt{0};
  std::atomic<std::uint64_t> world_size{0};
  std::atomic<std::uint64_t> step{0};
  std::atomic<std::uint64_t> durable_step{0};
  std::atomic<std::uint64_t> replayed_steps{0};
  std::atomic<std::uint64_t> missed_saves{0};
  std::atomic<std::uint64_t> stale_saves{0};
  std::deque<StoreMeters> stores;  // complete before the first scrape
  Since durable_since;
  std::atomic<double> progress{0};  // 0 to 1
  std::atomic<std::uint64_t> samples{0};
  std::atomic<std::uint64_t> epoch_samples{0};  // of one epoch; 0: the training follows no stream
  std::atomic<std::uint64_t> replayed_samples{0};
  Values values;
  Rejoins rejoins;
  LossMeters run_losses;
  LastRecovery last_recovery;
  ReadLedger ledger;      // of this process
  ReadLedger run_ledger;  // of the run: empty except on rank 0
  Stopwatch save_stall;
  StepTimes step_times;
};

}  // namespace ratoon::metrics
