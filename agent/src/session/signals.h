// Signals: what this process was told by signals while train() runs. Handlers count and note the time, call
// the handler that was there before, and are taken away with the object. A second Ctrl-C ends the process at
// once.
//
//   const Signals signals(SIGUSR1);             // nothing is touched before this
//   signals.retake();                           // now and then, on that thread
//   if (signals.heard(SIGTERM).count > 0) ...   // any thread
//   signals.wait(stop, 1s);                     // until the next one
//
// One at a time in a process; a child that is forked and does not exec has the handlers of before. A signal
// that was ignored when it began (nohup, a shell's background) stays ignored.
#pragma once

#include <chrono>
#include <cstdint>
#include <stop_token>

#include "base/core/clock.h"

namespace ratoon::session {

struct HeardSignal {
  std::uint32_t count = 0;
  Timestamp first{};  // when the first came, on SystemClock
};

class Signals {
 public:
  // SIGTERM, SIGINT, SIGUSR1, and `also` where it is none of them; 0: none. Throws Failure where the process
  // has no descriptor left.
  explicit Signals(int also = 0);
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  // A handler that the program has installed since then would keep its signal from us: ours takes its place
  // and calls it. What the program ignores by now, or gave back to the system, stays so.
  void retake();
  [[nodiscard]] HeardSignal heard(int number) const;
  // Until a signal comes, or the stop, or so long; one thread.
  void wait(const std::stop_token& stop, std::chrono::milliseconds at_most) const;
};

}  // namespace ratoon::session
