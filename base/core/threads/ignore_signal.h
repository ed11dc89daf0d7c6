// Ignores signals such as SIGPIPE, so that a failing call returns an error and the process continues.
#pragma once

#include <csignal>

namespace ratoon {

// Returns whether this process ignores the signal: nohup makes a program ignore SIGHUP, and a shell's '&'
// makes it ignore SIGINT.
[[nodiscard]] inline bool is_ignored(int number) {
  struct sigaction now{};
  return ::sigaction(number, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 &&
         now.sa_handler == SIG_IGN;
}

// Ignores the signal unless the program has set its own handler for it.
inline void ignore_signal(int number) {
  struct sigaction now{};
  if (::sigaction(number, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 &&
      now.sa_handler == SIG_DFL)
    std::signal(number, SIG_IGN);
}

// Ignores two signals. SIGXFSZ comes after a write beyond the file size of `ulimit -f`. SIGPIPE comes after a
// write to a pipe without a reader, for example in `trainer | tee log` after tee has ended.
inline void ignore_broken_output_signals() {
  ignore_signal(SIGXFSZ);
  ignore_signal(SIGPIPE);
}

}  // namespace ratoon
