// What tests measure: time, peak memory and threads of this process.
#pragma once

#include <chrono>
#include <cstdio>
#include <cstring>

namespace ratoon::http::testing {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool kIsSanitized = true;
#else
inline constexpr bool kIsSanitized = false;
#endif

// How long a test waits for an event that must come: the limit ends a test that hangs, and says nothing about
// speed.
inline constexpr std::chrono::milliseconds kPatience = std::chrono::minutes(2);

// The limits that are not under test. A call or a connection that ends at all ends long before these limits.
inline constexpr std::chrono::milliseconds kNever = std::chrono::hours(1);

class Stopwatch {
 public:
  [[nodiscard]] std::chrono::milliseconds elapsed() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start_);
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// A line of /proc/self/status, for example "VmHWM:".
inline long read_status(const char* name) {
  long value = 0;
  std::FILE* file = std::fopen("/proc/self/status", "re");
  if (file == nullptr) return 0;
  char line[256];
  while (std::fgets(line, sizeof line, file) != nullptr) {
    if (std::strncmp(line, name, std::strlen(name)) == 0)
      std::sscanf(line + std::strlen(name), "%ld", &value);
  }
  std::fclose(file);
  return value;
}

inline long count_threads() {
  return read_status("Threads:");
}

// How far the process's memory rises above its present size.
class MemoryPeak {
 public:
  MemoryPeak() {
    // "5" sets the peak back to the present size (proc(5)).
    if (std::FILE* file = std::fopen("/proc/self/clear_refs", "we")) {
      std::fputs("5", file);
      std::fclose(file);
    }
    start_kib_ = read_status("VmHWM:");
  }
  [[nodiscard]] long growth_mib() const { return (read_status("VmHWM:") - start_kib_) / 1024; }

 private:
  long start_kib_ = 0;
};

// Well under the bytes that the floods send, with room for a busy machine; sanitizers keep freed memory in
// quarantine.
inline constexpr long kFewMib = kIsSanitized ? 64 : 32;

}  // namespace ratoon::http::testing
