// ignore_signal: what a signal tells by ending the process, a call then tells as its error.
#pragma once

#include <csignal>

namespace ratoon {

// Whoever has a handler of his own keeps it.
inline void ignore_signal(int number) {
  struct sigaction now{};
  if (::sigaction(number, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 &&
      now.sa_handler == SIG_DFL)
    std::signal(number, SIG_IGN);
}

}  // namespace ratoon
