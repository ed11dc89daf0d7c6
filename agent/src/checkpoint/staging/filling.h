// Filling: how far the copy into a slot has come, so that what is there can be written while the rest comes.
//
// Nothing of it becomes a checkpoint before complete(): what is copied may yet turn out to be of no one
// moment.
//
// Thread contract: one thread fills, any look on.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace ratoon::checkpoint {

class Filling {
 public:
  static std::shared_ptr<Filling> completed() {
    auto filling = std::make_shared<Filling>();
    filling->complete();
    return filling;
  }

  // So many bytes from the beginning are there, and stay as they are.
  void come_to(std::uint64_t bytes) { set(bytes); }
  void complete() { set(kWhole); }
  // What was there is not to be used, and does not stay. Nothing where it is complete.
  void cancel() {
    if (there_.load(std::memory_order_relaxed) != kWhole) set(kCancelled);
  }

  // Return when it has come so far, or false when it is cancelled.
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
  static constexpr std::uint64_t kCancelled = ~0ULL;  // ends every wait, as does
  static constexpr std::uint64_t kWhole = kCancelled - 1;

  void set(std::uint64_t there) {
    there_.store(there, std::memory_order_release);
    there_.notify_all();
  }

  std::atomic<std::uint64_t> there_{0};
};

}  // namespace ratoon::checkpoint
