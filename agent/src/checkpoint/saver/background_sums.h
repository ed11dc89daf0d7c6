// Computes the checksums of bytes in memory on a separate thread while the bytes are written. finish()
// computes them in the caller's thread if the bytes are few, or if the system starts no further thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <span>
#include <vector>

#include "agent/src/checkpoint/pack/header/pack_sums.h"

namespace ratoon::checkpoint {

class BackgroundSums {
 public:
  // Adds the bytes of `data`, one span after the other, to `sums`. Do not use `sums` before
  // finish() returns or this object ends.
  BackgroundSums(PackSums& sums, std::vector<std::span<const std::byte>> data);
  // Adds bytes that are still being copied. `wait_for` blocks until `bytes` bytes are copied, and returns
  // false if they never will be. `wait_for` may be called from any thread.
  using WaitFor = std::function<bool(std::uint64_t bytes)>;
  BackgroundSums(PackSums& sums, std::span<const std::byte> data, WaitFor wait_for);
  BackgroundSums(const BackgroundSums&) = delete;
  BackgroundSums& operator=(const BackgroundSums&) = delete;
  // If finish() is not called, the sums are no longer needed, and the computation stops early.
  ~BackgroundSums();

  // Returns when all bytes are in the sums.
  void finish();

 private:
  void add_all();

  void begin();

  PackSums& sums_;
  const std::vector<std::span<const std::byte>> data_;
  const WaitFor wait_for_;
  std::atomic<bool> is_needed_ = true;
  std::future<void> has_ended_;
};

}  // namespace ratoon::checkpoint
