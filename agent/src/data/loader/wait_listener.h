// Who accounts for the time of a thread hears when that thread waits for a batch, and the loop over a loader
// need not say it.
#pragma once

#include <exception>
#include <utility>

namespace ratoon::data {

class WaitListener {
 public:
  virtual ~WaitListener() = default;
  virtual void begin_wait() = 0;
  virtual void end_wait() = 0;
  // The wait ends with this Failure of Ratoon's own, as of a disk. A program may catch it, and end by it.
  virtual void note_failure(std::exception_ptr failure) = 0;
};

// Of the calling thread, to be set and read; null: nobody listens.
[[nodiscard]] inline WaitListener*& wait_listener() {
  thread_local WaitListener* listener = nullptr;
  return listener;
}

// While it lives, the calling thread waits.
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
