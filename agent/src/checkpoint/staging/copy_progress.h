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

  // Reports that the first `bytes` bytes are copied and do not change any longer, unless the copy is
  // cancelled.
  void advance_to(std::uint64_t bytes) { set(bytes); }
  void complete() { set(kWhole); }
  // Cancels the copy: the bytes copied so far must not be used and may change. Has no effect after
  // complete().
  void cancel() {
    if (there_.load(std::memory_order_relaxed) != kWhole) set(kCancelled);
  }

  // The next two functions block until the first `bytes` bytes are copied, and return false if the copy is
  // cancelled.
  [[nodiscard]] bool wait_for(std::uint64_t bytes) const {
    std::uint64_t there = there_.load(std::memory_order_acquire);
    while (there < bytes) {
      there_.wait(there, std::memory_order_acquire);
      there = there_.load(std::memory_order_acquire);
    }
    return there != kCancelled;
  }
  [[nodiscard]] bool wait_until_complete() const { return wait_for(kWhole); }

 private:
  static constexpr std::uint64_t kCancelled = ~0ULL;  // ends every wait, as kWhole does
  static constexpr std::uint64_t kWhole = kCancelled - 1;

  void set(std::uint64_t there) {
    there_.store(there, std::memory_order_release);
    there_.notify_all();
  }

  std::atomic<std::uint64_t> there_{0};
};

}  // namespace ratoon::checkpoint
