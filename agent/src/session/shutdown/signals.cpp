#include "agent/src/session/shutdown/signals.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <list>
#include <vector>

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <ratoon/result.h>

#include "agent/src/session/shutdown/fail.h"
#include "base/contract/exit_code.h"
#include "base/core/never_destroyed.h"

namespace ratoon::session {
namespace {

// Arrays that are indexed by signal number have the size kSignalNumbersMax. Ratoon does not handle real-time
// signals, whose numbers are at least kSignalNumbersMax.
constexpr std::size_t kSignalNumbersMax = 32;

struct SignalCounter {
  std::atomic<std::uint32_t> count{0};
  std::atomic<std::int64_t> first_nanoseconds{0};
};
std::array<SignalCounter, kSignalNumbersMax> signal_counters;
// replaced_actions has the signal actions that Ratoon's handlers have replaced.
std::array<std::atomic<const struct sigaction*>, kSignalNumbersMax> replaced_actions;
std::array<std::atomic<bool>, kSignalNumbersMax> is_handled;
std::atomic<pid_t> handling_process{0};  // the process that handles signals
std::atomic<int> object_count{0};        // of that process
std::atomic<int> wakeup_fd{-1};          // stays open once it is open: a handler may still write
static_assert(std::atomic<std::uint32_t>::is_always_lock_free &&
              std::atomic<std::int64_t>::is_always_lock_free &&
              std::atomic<const struct sigaction*>::is_always_lock_free);
// is_being_handled marks the signals that this thread is handling. The marks prevent endless recursion if the
// program's handler calls the replaced handler, on_signal().
thread_local std::array<bool, kSignalNumbersMax> is_being_handled{};

// Returns a copy of `action` that is never freed, because a signal handler may still use a replaced action.
const struct sigaction* intern_action(const struct sigaction& action) {
  static const NeverDestroyed<std::list<struct sigaction>> kept;
  const auto is_it = [&](const struct sigaction& one) {
    return one.sa_sigaction == action.sa_sigaction && one.sa_flags == action.sa_flags;
  };
  const auto known = std::find_if(kept->begin(), kept->end(), is_it);
  return known != kept->end() ? &*known : &kept->emplace_back(action);
}

void wake_waiting_thread() {
  const std::uint64_t one = 1;
  if (::write(wakeup_fd, &one, sizeof one) < 0) return;  // a full counter: a notification is pending already
}

void call_previous_handler(int number, siginfo_t* info, void* context) {
  const struct sigaction& action = *replaced_actions[static_cast<std::size_t>(number)].load();
  if ((action.sa_flags & SA_SIGINFO) != 0) {
    if (action.sa_sigaction != nullptr) action.sa_sigaction(number, info, context);
  } else if (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN) {
    action.sa_handler(number);
  }
}

void restore_handler(int number);

// on_signal() is the signal handler, so it calls only async-signal-safe functions.
void on_signal(int number, siginfo_t* info, void* context) {
  if (::getpid() != handling_process) {  // a forked child that has not given it back yet, or is about to
    const int error = errno;
    restore_handler(number);
    static_cast<void>(::raise(number));  // delivered once this handler has returned
    errno = error;
    return;
  }
  bool& is_inside = is_being_handled[static_cast<std::size_t>(number)];
  if (is_inside) return;
  is_inside = true;
  const int error = errno;
  SignalCounter& heard = signal_counters[static_cast<std::size_t>(number)];
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  std::int64_t none = 0;
  heard.first_nanoseconds.compare_exchange_strong(none,
                                                  std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec);
  const bool is_first = heard.count.fetch_add(1) == 0;
  call_previous_handler(number, info, context);
  if (number == SIGINT && !is_first) ::_exit(static_cast<int>(ExitCode::kInterruptedByUser));
  wake_waiting_thread();
  errno = error;
  is_inside = false;
}

struct sigaction current_action(int number) {
  struct sigaction action{};
  ::sigaction(number, nullptr, &action);
  return action;
}

bool is_our_handler(const struct sigaction& action) {
  return action.sa_sigaction == on_signal;
}

bool is_handler(const struct sigaction& action) {
  if ((action.sa_flags & SA_SIGINFO) != 0) return action.sa_sigaction != nullptr;
  return action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN;
}

void install_handler_over(int number, const struct sigaction& from) {
  replaced_actions[static_cast<std::size_t>(number)] = intern_action(from);
  struct sigaction ours{};
  ours.sa_sigaction = on_signal;
  ours.sa_flags = SA_SIGINFO | SA_RESTART;
  sigemptyset(&ours.sa_mask);
  ::sigaction(number, &ours, nullptr);
}

void restore_handler(int number) {
  if (is_our_handler(current_action(number)))
    ::sigaction(number, replaced_actions[static_cast<std::size_t>(number)], nullptr);
}

// Restores all earlier handlers in a forked child. A signal may interrupt restore_all_handlers() at any
// point.
void restore_all_handlers() {
  for (std::size_t at = 0; at < kSignalNumbersMax; ++at) {
    if (!is_handled[at]) continue;
    restore_handler(static_cast<int>(at));
    is_handled[at] = false;
  }
}

// Restores the earlier signal handlers in forked children, so that a signal ends a forked child like any
// other process.
void restore_handlers_in_children() {
  static const int registered = ::pthread_atfork(nullptr, nullptr, [] {
    restore_all_handlers();
    object_count = 0;
  });
  static_cast<void>(registered);
}

}  // namespace

Signals::Signals(int also) : process_(::getpid()) {
  if (wakeup_fd < 0) wakeup_fd = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (wakeup_fd < 0)
    fail(ExitCode::kStartAgain, system_error(errno, "listening to signals").message() + "; start again");
  restore_handlers_in_children();
  handling_process = process_;
  ++object_count;
  std::vector<int> wanted = {SIGTERM, SIGINT, SIGUSR1};
  if (also > 0 && also != SIGTERM && also != SIGINT && also != SIGUSR1) wanted.push_back(also);
  for (const int number : wanted) {
    const auto at = static_cast<std::size_t>(number);
    if (!is_handled[at]) {
      signal_counters[at].count = 0;
      signal_counters[at].first_nanoseconds = 0;
    }
    const struct sigaction found = current_action(number);
    const bool is_ignored = (found.sa_flags & SA_SIGINFO) == 0 && found.sa_handler == SIG_IGN;
    if (is_ignored) continue;
    if (!is_our_handler(found)) install_handler_over(number, found);
    is_handled[at] = true;
  }
}

Signals::~Signals() {
  if (process_ == ::getpid() && object_count.fetch_sub(1) == 1) restore_all_handlers();
}

void Signals::reinstall_handlers() {
  for (std::size_t at = 0; at < kSignalNumbersMax; ++at) {
    if (!is_handled[at]) continue;
    const struct sigaction now = current_action(static_cast<int>(at));
    if (!is_our_handler(now) && is_handler(now)) install_handler_over(static_cast<int>(at), now);
  }
}

SignalCount Signals::heard(int number) const {
  const SignalCounter& heard = signal_counters[static_cast<std::size_t>(number)];
  return {.count = heard.count.load(), .first = {Duration(heard.first_nanoseconds.load())}};
}

void Signals::wait(const std::stop_token& stop, std::chrono::milliseconds at_most) const {
  const std::stop_callback on_stop(stop, wake_waiting_thread);
  pollfd ready{wakeup_fd, POLLIN, 0};
  while (!stop.stop_requested() && ::poll(&ready, 1, static_cast<int>(at_most.count())) < 0 &&
         errno == EINTR) {
  }
  std::uint64_t count = 0;
  if (::read(wakeup_fd, &count, sizeof count) < 0) return;
}

}  // namespace ratoon::session
