#include "cli/cluster/reader/stop_on_signal.h"

#include <ctime>

#include "base/core/threads/ignore_signal.h"

namespace ratoon::cli {
namespace {

constexpr timespec kSignalPollInterval{.tv_sec = 0, .tv_nsec = 100'000'000};

}  // namespace

StopOnSignal::StopOnSignal() {
  sigemptyset(&signals_);
  for (const int number : {SIGINT, SIGTERM, SIGHUP})
    if (!is_ignored(number)) sigaddset(&signals_, number);
  ::pthread_sigmask(SIG_BLOCK, &signals_, &previous_signal_mask_);
  wait_thread_ = std::jthread([this](const std::stop_token& is_over) { wait(is_over); });
}

StopOnSignal::~StopOnSignal() {
  wait_thread_.request_stop();
  wait_thread_.join();
  ::pthread_sigmask(SIG_SETMASK, &previous_signal_mask_, nullptr);
}

void StopOnSignal::wait(const std::stop_token& is_over) {
  while (!is_over.stop_requested()) {
    if (::sigtimedwait(&signals_, nullptr, &kSignalPollInterval) < 0) continue;
    stop_source_.request_stop();
    // After SIG_UNBLOCK, a second signal gets its default action, which ends the process.
    ::pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
    return;
  }
}

}  // namespace ratoon::cli
