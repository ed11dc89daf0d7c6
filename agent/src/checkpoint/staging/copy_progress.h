// CopyProgress: how many bytes of a slot are copied, so that a writer can write these bytes while the rest is
// copied.
//
// A pack must not become part of a checkpoint before complete() is called, because the copy may turn out to
// be inconsistent.
//
// Thread contract: one thread copies and reports progress; any thread may wait for the progress.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace ratoon::checkpoint {

class CopyProgress {
 public:
  static std::shared_ptr<CopyProgress> completed() {
    auto filling = std::make_shared<CopyProgress>();
    filling->complete();
    return filling;
  }

  // Reports that the first `bytes` bytes are copied. They no longer change, unless the copy is
  // cancelled.
  void advance_to(std::uint64_t bytes) { set(bytes); }
  void complete() { set(kComplete); }
  // Cancels the copy: the bytes copied so far must not be used and may change. cancel() has no effect after
  // complete().
  void cancel() {
    if (copied_bytes_.load(std::memory_order_relaxed) != kComplete) set(kCancelled);
  }

  // The next two functions block until the first `bytes` bytes are copied, and return false if the copy is
  // cancelled.
  [[nodiscard]] bool wait_for(std::uint64_t bytes) const {
    std::uint64_t copied_bytes = copied_bytes_.load(std::memory_order_acquire);
    while (copied_bytes < bytes) {
      copied_bytes_.wait(copied_bytes, std::memory_order_acquire);
      copied_bytes = copied_bytes_.load(std::memory_order_acquire);
    }
    return copied_bytes != kCancelled;
  }
  [[nodiscard]] bool wait_until_complete() const { return wait_for(kComplete); }

 private:
  static constexpr std::uint64_t kCancelled = ~0ULL;  // ends every wait, as kComplete does
  static constexpr std::uint64_t kComplete = kCancelled - 1;

  void set(std::uint64_t copied_bytes) {
    copied_bytes_.store(copied_bytes, std::memory_order_release);
    copied_bytes_.notify_all();
  }

  std::atomic<std::uint64_t> copied_bytes_{0};
};

}  // namespace ratoon::checkpoint
