// Signals that are ignored: what one tells by ending the process, a call then tells as its error.
#pragma once

#include <csignal>

namespace ratoon {

// As nohup and the '&' of a script leave SIGHUP and SIGINT to the programs that they start.
[[nodiscard]] inline bool is_ignored(int number) {
  struct sigaction now{};
  return ::sigaction(number, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 &&
         now.sa_handler == SIG_IGN;
}

// A handler that the program has set stays.
inline void ignore_signal(int number) {
  struct sigaction now{};
  if (::sigaction(number, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 &&
      now.sa_handler == SIG_DFL)
    std::signal(number, SIG_IGN);
}

// A file beyond `ulimit -f`, and an output that is read no longer: `trainer | tee log`, whose tee is ended.
inline void ignore_signals_of_writes() {
  ignore_signal(SIGXFSZ);
  ignore_signal(SIGPIPE);
}

}  // namespace ratoon
