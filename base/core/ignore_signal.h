// Ignores signals, so that a failing call returns an error instead of ending the process.
#pragma once

#include <csignal>

namespace ratoon {

// Whether the signal is ignored. nohup and the '&' of a script start programs with SIGHUP and SIGINT ignored.
[[nodiscard]] inline bool is_ignored(int number) {
  struct sigaction now{};
  return ::sigaction(number, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 &&
         now.sa_handler == SIG_IGN;
}

// Leaves a handler that the program has set.
inline void ignore_signal(int number) {
  struct sigaction now{};
  if (::sigaction(number, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 &&
      now.sa_handler == SIG_DFL)
    std::signal(number, SIG_IGN);
}

// Ignores the signals of writes to a file beyond `ulimit -f`, and to an output that is no longer read, as in
// `trainer | tee log` after the end of tee.
inline void ignore_signals_of_writes() {
  ignore_signal(SIGXFSZ);
  ignore_signal(SIGPIPE);
}

}  // namespace ratoon
