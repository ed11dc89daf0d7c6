// Notifies a listener when its thread waits for a batch, so that the time is accounted for without code in
// the loop over a loader.
#pragma once

#include <exception>
#include <utility>

namespace ratoon::data {

class WaitListener {
 public:
  virtual ~WaitListener() = default;
  virtual void begin_wait() = 0;
  virtual void end_wait() = 0;
  // The wait ends with one of Ratoon's own failures, such as a failure of a disk. A program may catch that
  // failure and then end.
  virtual void note_failure(std::exception_ptr failure) = 0;
};

// The listener of the calling thread, to be set and read; null: the thread has no listener.
[[nodiscard]] inline WaitListener*& wait_listener() {
  thread_local WaitListener* listener = nullptr;
  return listener;
}

// Records that the calling thread waits, for the lifetime of the scope.
class WaitScope {
 public:
  WaitScope() : listener_(wait_listener()) {
    if (listener_ != nullptr) listener_->begin_wait();
  }
  ~WaitScope() {
    if (listener_ != nullptr) listener_->end_wait();
  }
  void note_failure(std::exception_ptr failure) const {
    if (listener_ != nullptr) listener_->note_failure(std::move(failure));
  }
  WaitScope(const WaitScope&) = delete;
  WaitScope& operator=(const WaitScope&) = delete;

 private:
  WaitListener* const listener_;
};

}  // namespace ratoon::data
