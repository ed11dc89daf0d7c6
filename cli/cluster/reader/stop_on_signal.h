// StopOnSignal: turns Ctrl-C, SIGTERM and a closed terminal (SIGHUP) into a stop request, so that a command
// can delete its pod before it ends. A second signal ends the process at once.
#pragma once

#include <csignal>
#include <stop_token>
#include <thread>

namespace ratoon::cli {

class StopOnSignal {
 public:
  // Blocks the signals in this thread and in threads that it starts later. Make a StopOnSignal before other
  // threads exist.
  StopOnSignal();
  ~StopOnSignal();
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;

  [[nodiscard]] std::stop_token token() const { return stop_source_.get_token(); }

 private:
  void wait(const std::stop_token& is_over);

  sigset_t signals_{};
  sigset_t previous_signal_mask_{};
  std::stop_source stop_source_;
  std::jthread wait_thread_;  // last: it uses the members above
};

}  // namespace ratoon::cli
