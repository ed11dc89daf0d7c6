// Meters: the numbers that a process shows about its training. Written by the training thread, read by
// whoever scrapes: atomics alone, so that neither ever waits for the other.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

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

// How long steps took, counted in buckets.
class StepTimes {
 public:
  // Upper bounds in seconds; what is longer than the last one has a bucket of its own.
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

struct Meters {
  std::atomic<std::uint64_t> attempt{0};
  std::atomic<std::uint64_t> world_size{0};
  std::atomic<std::uint64_t> step{0};
  std::atomic<std::uint64_t> durable_step{0};
  std::atomic<std::uint64_t> replayed_steps{0};
  Stopwatch save_stall;
  StepTimes step_times;
};

}  // namespace ratoon::metrics
