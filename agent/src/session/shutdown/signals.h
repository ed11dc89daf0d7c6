// Signals counts the signals that this process receives while train() runs. Its signal handlers count
// signals, record the time, and call the handler that was installed before. The destructor removes the
// handlers. A second Ctrl-C ends the process at once.
//
//   const Signals signals(SIGUSR1);             // nothing is touched before this
//   signals.retake();                           // now and then, on that thread
//   if (signals.heard(SIGTERM).count > 0) ...   // any thread
//   signals.wait(stop, 1s);                     // until the next one
//
// If a process has several Signals objects at a time, each object counts every signal, and the last object
// removes the handlers. A forked child without exec() gets the earlier handlers back. A signal that was
// ignored when the object was made (nohup, a shell's background) stays ignored.
#pragma once

#include <chrono>
#include <cstdint>
#include <stop_token>

#include <sys/types.h>

#include "base/core/clock.h"

namespace ratoon::session {

struct HeardSignal {
  std::uint32_t count = 0;
  Timestamp first{};  // when the first one arrived, on SystemClock
};

class Signals {
 public:
  // Handles SIGTERM, SIGINT, SIGUSR1 and, unless it is 0, the signal `also`. Throws Failure if the process
  // has no descriptor left.
  explicit Signals(int also = 0);
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  // Installs this object's handler again where the program has since installed its own, which would hide the
  // signal from this object. The handler of this object calls the program's handler. A signal that the
  // program now ignores, or has reset to the default, is no longer handled.
  void retake();
  [[nodiscard]] HeardSignal heard(int number) const;
  // Waits until a signal, a stop request or the end of `at_most`. Only one thread may call wait().
  void wait(const std::stop_token& stop, std::chrono::milliseconds at_most) const;

 private:
  pid_t process_;  // a forked child destroys a copy
};

}  // namespace ratoon::session
