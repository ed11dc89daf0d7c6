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

#include "agent/src/checkpoint/pack/header/pack_checksums.h"

namespace ratoon::checkpoint {

class BackgroundChecksums {
 public:
  // Adds the bytes of `data`, one span after the other, to `sums`. Do not use `sums` before finish() returns
  // or this object is destroyed.
  BackgroundChecksums(PackChecksums& sums, std::vector<std::span<const std::byte>> data);
  // Computes the checksums of bytes that are still being copied into `image`. `wait_for(bytes)` blocks until
  // the first `bytes` bytes are copied, and returns false if the copy was cancelled. `wait_for` may be called
  // from any thread.
  using WaitFunction = std::function<bool(std::uint64_t bytes)>;
  BackgroundChecksums(PackChecksums& sums, std::span<const std::byte> data, WaitFunction wait_for);
  BackgroundChecksums(const BackgroundChecksums&) = delete;
  BackgroundChecksums& operator=(const BackgroundChecksums&) = delete;
  // If this object is destroyed before finish() was called, the computation stops early.
  ~BackgroundChecksums();

  // Waits until the checksums of all bytes are computed.
  void finish();

 private:
  void add_all();

  void begin();

  PackChecksums& checksums_;
  const std::vector<std::span<const std::byte>> data_;
  const WaitFunction wait_for_;
  std::atomic<bool> is_needed_ = true;
  std::future<void> computation_;
};

}  // namespace ratoon::checkpoint
