// Starts threads of the library, which handle no signals.
#pragma once

#include <csignal>
#include <thread>
#include <utility>

namespace ratoon {

// Blocks all signals for the calling thread until the end of the block.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockedSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_{};
};

// Starts a thread in which all signals are blocked, because it inherits the mask of the calling thread.
// Signals then reach the program's own threads, which expect them, and a signal with its default effect does
// not end the process in the middle of this thread's work.
template <class Body>
[[nodiscard]] std::thread start_thread_without_signals(Body body) {
  const BlockedSignals blocked;
  return std::thread(std::move(body));
}

}  // namespace ratoon
