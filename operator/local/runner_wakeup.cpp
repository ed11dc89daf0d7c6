#include "operator/local/runner_wakeup.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/core/threads/ignore_signal.h"

namespace ratoon::local {

Result<RunnerWakeup> RunnerWakeup::open() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGCHLD);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2})
    if (!is_ignored(number)) sigaddset(&signals, number);
  if (const int error = ::pthread_sigmask(SIG_BLOCK, &signals, nullptr); error != 0) {
    return system_error(error, "blocking signals");
  }
  // Some supervisors start programs with SIGCHLD ignored. Then the exit status of children would be lost.
  std::signal(SIGCHLD, SIG_DFL);
  ignore_broken_output_signals();  // the run goes on if its output is no longer read, or too large
  UniqueFd signal_fd(::signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC));
  UniqueFd news_fd(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!signal_fd.is_open() || !news_fd.is_open()) return system_error(errno, "opening signalfd and eventfd");
  return RunnerWakeup(std::move(signal_fd), std::move(news_fd));
}

void RunnerWakeup::notify() const {
  const std::uint64_t one = 1;
  // The write fails only if the eventfd's counter is full, and then the sleeping thread wakes anyway.
  if (::write(notification_.get(), &one, sizeof one) < 0) return;
}

void RunnerWakeup::wait(Duration at_most) const {
  std::array<pollfd, 3> ready{
      {{signal_fd_.get(), POLLIN, 0}, {notification_.get(), POLLIN, 0}, {watched_fd_, POLLIN, 0}}};
  for (int found = 0; found == 0; at_most -= call_interval_) {
    const Duration part = on_interval_ ? std::min(at_most, call_interval_) : at_most;
    const auto millis = std::chrono::ceil<std::chrono::milliseconds>(part).count();
    found = ::poll(ready.data(), ready.size(), static_cast<int>(millis));
    if (on_interval_) on_interval_();
    if (part == at_most) return;
  }
}

int RunnerWakeup::sleep(Duration at_most) const {
  wait(at_most);
  std::uint64_t count = 0;
  while (::read(notification_.get(), &count, sizeof count) > 0) {
  }
  int stops = 0;
  signalfd_siginfo info{};
  while (::read(signal_fd_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    const bool is_passed_on = info.ssi_signo == SIGUSR1 || info.ssi_signo == SIGUSR2;
    if (is_passed_on && on_signal_) on_signal_(static_cast<int>(info.ssi_signo));
    if (info.ssi_signo != SIGCHLD && !is_passed_on) ++stops;
  }
  return stops;
}

}  // namespace ratoon::local
