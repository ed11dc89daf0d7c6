// Notifies a thread's listener when the thread waits for a batch. The waiting time is thus measured without
// code in the program's loop over a DataLoader.
#pragma once

#include <exception>
#include <utility>

namespace ratoon::data {

class WaitListener {
 public:
  virtual ~WaitListener() = default;
  virtual void begin_wait() = 0;
  virtual void end_wait() = 0;
  // note_failure() is called if the wait ends with a ratoon::Failure, such as the failure of a disk, which
  // the program may catch before it ends.
  virtual void note_failure(std::exception_ptr failure) = 0;
};

// Returns the calling thread's listener, by reference, to read or set it; null means no listener.
[[nodiscard]] inline WaitListener*& wait_listener() {
  thread_local WaitListener* listener = nullptr;
  return listener;
}

// While a WaitScope exists, the listener of the calling thread counts that thread as waiting.
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
