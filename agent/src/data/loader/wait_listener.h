// Notifies a thread's listener when the thread waits for a batch. The session uses a listener to measure the
// time for which training waits for data; a program that loops over a DataLoader needs no code for that.
#pragma once

#include <exception>
#include <utility>

namespace ratoon::data {

class WaitListener {
 public:
  virtual ~WaitListener() = default;
  virtual void begin_wait() = 0;
  virtual void end_wait() = 0;
  // on_failure() is called if the wait ends with a ratoon::Failure, such as a disk error. The function is
  // needed because the program may catch the Failure, and the listener would otherwise not be informed of the
  // Failure.
  virtual void on_failure(std::exception_ptr failure) = 0;
};

// Returns a reference to the listener of the calling thread, so that the caller can read or set it. A thread
// without a listener has a null pointer.
[[nodiscard]] inline WaitListener*& wait_listener() {
  thread_local WaitListener* listener = nullptr;
  return listener;
}

// While a WaitScope exists, the listener counts the thread that created the scope as waiting.
class WaitScope {
 public:
  WaitScope() : listener_(wait_listener()) {
    if (listener_ != nullptr) listener_->begin_wait();
  }
  ~WaitScope() {
    if (listener_ != nullptr) listener_->end_wait();
  }
  void on_failure(std::exception_ptr failure) const {
    if (listener_ != nullptr) listener_->on_failure(std::move(failure));
  }
  WaitScope(const WaitScope&) = delete;
  WaitScope& operator=(const WaitScope&) = delete;

 private:
  WaitListener* const listener_;
};

}  // namespace ratoon::data
