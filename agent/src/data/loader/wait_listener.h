// Who accounts for the time of a thread hears when that thread waits for a batch, and the loop over a loader
// need not say it.
#pragma once

namespace ratoon::data {

class WaitListener {
 public:
  virtual ~WaitListener() = default;
  virtual void begin_wait() = 0;
  virtual void end_wait() = 0;
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
  WaitScope(const WaitScope&) = delete;
  WaitScope& operator=(const WaitScope&) = delete;

 private:
  WaitListener* const listener_;
};

}  // namespace ratoon::data
