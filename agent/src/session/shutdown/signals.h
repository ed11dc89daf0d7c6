// Signals: counts the signals that this process receives while train() runs. The signal handlers count each
// signal, record the time of the first, and call the handler that was installed before. The destructor
// restores the earlier handlers. A second Ctrl-C ends the process at once.
//
//   const Signals signals(SIGUSR1);             // nothing is touched before this
//   signals.reinstall_handlers();               // now and then, on that thread
//   if (signals.heard(SIGTERM).count > 0) ...   // any thread
//   signals.wait(stop, 1s);                     // until the next one
//
// If a process has several Signals objects, each object counts every signal, and the destructor of the last
// object restores the handlers. In a forked child, the earlier handlers are restored. A signal that was
// ignored before, for example because of nohup, stays ignored.
#pragma once

#include <chrono>
#include <cstdint>
#include <stop_token>

#include <sys/types.h>

#include "base/core/clock.h"

namespace ratoon::session {

struct SignalCount {
  std::uint32_t count = 0;
  Timestamp first{};  // when the first one arrived, on SystemClock
};

class Signals {
 public:
  // Installs handlers for SIGTERM, SIGINT, SIGUSR1 and the signal `also` (0: no further signal). Throws
  // Failure if the process has no free file descriptor.
  explicit Signals(int also = 0);
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  // If the program has replaced this object's handler for a signal by its own, installs this object's
  // handler again, so that the signal is counted. The reinstalled handler also calls the program's handler.
  // If the program ignores a signal, or has reset it to the default, this object no longer handles the
  // signal.
  void reinstall_handlers();
  [[nodiscard]] SignalCount heard(int number) const;
  // Waits until a signal or a stop request arrives, or until the time `at_most` has passed. Only one thread
  // may call wait().
  void wait(const std::stop_token& stop, std::chrono::milliseconds at_most) const;

 private:
  pid_t process_;  // a forked child destroys a copy
};

}  // namespace ratoon::session
