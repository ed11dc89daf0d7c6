// Events of the test accelerator: marks in streams, for which other streams and the host wait.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>

#include "tests/support/accelerator/stream.h"

namespace ratoon::test::accelerator {

// One record of an event: a place in a stream, which is reached once.
class Moment {
 public:
  void come();
  [[nodiscard]] bool has_come();
  void wait();
  // Waits on the host. Throws c10::AcceleratorError if the device breaks during the wait.
  void wait_while_alive(const char* call);
  [[nodiscard]] std::chrono::steady_clock::time_point time();

 private:
  std::mutex mutex_;
  std::condition_variable comes_;
  bool has_come_ = false;
  std::chrono::steady_clock::time_point time_;
};

// The moment at which all present work of `stream` has ended.
[[nodiscard]] std::shared_ptr<Moment> mark_end(Stream& stream);

// All later work of `stream` waits for `moment`.
void make_wait(Stream& stream, std::shared_ptr<Moment> moment);

// The object to which an event's handle points.
class Event {
 public:
  void record(Stream& stream);
  void block(Stream& stream) const;
  [[nodiscard]] bool query() const;  // an event that was never recorded is over
  void synchronize() const;
  [[nodiscard]] double milliseconds_until(const Event& later) const;

 private:
  [[nodiscard]] std::shared_ptr<Moment> last() const;

  mutable std::mutex mutex_;
  std::shared_ptr<Moment> last_;
};

}  // namespace ratoon::test::accelerator
