// The greatest amount of memory of a benchmark, as the kernel counts it: VmHWM of the process, mapped files
// that are in memory included. The peers in tests/bench/peers report the same number.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

#include <benchmark/benchmark.h>

namespace ratoon::bench {

inline std::uint64_t memory_bytes(const std::string& name) {
  std::ifstream status("/proc/self/status");
  std::string field;
  std::uint64_t kilobytes = 0;
  while (status >> field) {
    if (field == name && status >> kilobytes) break;
  }
  return kilobytes * 1024;
}

// The peak since it was made.
class Peak {
 public:
  Peak() { std::ofstream("/proc/self/clear_refs") << 5; }

  // peak_bytes of the whole process, including memory that earlier cases left.
  void report_whole(benchmark::State& state) const {
    state.counters["peak_bytes"] =
        benchmark::Counter(static_cast<double>(memory_bytes("VmHWM:")), benchmark::Counter::kAvgThreads);
  }
  // peak_bytes above the process's memory when this object was made.
  void report_above(benchmark::State& state) const {
    const std::uint64_t peak = memory_bytes("VmHWM:");
    state.counters["peak_bytes"] = static_cast<double>(peak > before_ ? peak - before_ : 0);
  }

 private:
  std::uint64_t before_ = memory_bytes("VmRSS:");
};

}  // namespace ratoon::bench
