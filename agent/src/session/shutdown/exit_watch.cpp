#include "agent/src/session/shutdown/exit_watch.h"

#include <atomic>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <unistd.h>

#include "agent/src/session/shutdown/process_exit.h"
#include "agent/src/session/telemetry/say.h"
#include "base/contract/exit_code.h"
#include "base/core/never_destroyed.h"
#include "base/core/threads/mutex.h"

namespace ratoon::session {
namespace {

constexpr std::string_view kForked =
    "ratoon: a process that the program forked continues the session of its parent, whose threads it does "
    "not have: end such a process with _exit(), or let it start another program with exec(), before its next "
    "step and before the training function returns\n";

struct ExitHandlerState {
  Mutex mutex;
  std::function<int()> find_exit_code RATOON_GUARDED_BY(mutex);
  std::thread::id thread RATOON_GUARDED_BY(mutex);
  std::atomic<::pid_t> process{0};
};

ExitHandlerState& exit_handler_state() {
  static const NeverDestroyed<ExitHandlerState> it;
  return *it;
}

void on_process_exit(int status, void*) {
  constexpr unsigned kByteOfProcess = 0xff;
  if ((static_cast<unsigned>(status) & kByteOfProcess) != 0) return;
  // In a forked child, do not lock the mutex, because a thread that does not exist in the child may hold it.
  if (exit_handler_state().process != ::getpid()) return;
  std::function<int()> find_exit_code;
  bool is_own_thread = false;
  {
    const MutexLock lock(exit_handler_state().mutex);
    if (!exit_handler_state().find_exit_code) return;
    find_exit_code = std::exchange(exit_handler_state().find_exit_code, nullptr);
    is_own_thread = exit_handler_state().thread == std::this_thread::get_id();
  }
  if (is_own_thread) exit_now(find_exit_code());
  say("exit() was called with 0 by a thread other than the training thread, but the training is not "
      "complete: end the run with finish(), or the process with another code");
  exit_now(static_cast<int>(ExitCode::kConfiguration));
}

thread_local const TerminateWatch* active_terminate_watch = nullptr;  // on the training thread
std::terminate_handler previous_terminate_handler = nullptr;

void end_if_unwinding() {
  // If a destructor calls std::terminate(), the exception being thrown counts as uncaught. An exception that
  // leaves a noexcept function counts as caught.
  const bool is_unwinding = std::uncaught_exceptions() > 0 || std::current_exception() != nullptr;
  const TerminateWatch* const watch = is_unwinding ? std::exchange(active_terminate_watch, nullptr) : nullptr;
  if (watch != nullptr) exit_if_forked();
  const auto code = watch != nullptr ? watch->find_exit_code() : std::nullopt;
  if (code) {
    say("std::terminate() was called while this exception left the training function; the process ends "
        "with " +
        std::to_string(*code) +
        ": use std::jthread instead of std::thread, and do not call the session in a noexcept function, "
        "which a "
        "destructor is by default");
    exit_now(*code);
  }
  previous_terminate_handler();
}

}  // namespace

TerminateWatch::TerminateWatch(std::function<std::optional<int>()> find_exit_code)
    : find_code_(std::move(find_exit_code)) {
  static std::once_flag installed;
  std::call_once(installed, [] {
    previous_terminate_handler = std::get_terminate();  // before another thread can call the new handler
    std::set_terminate(end_if_unwinding);
  });
  active_terminate_watch = this;
}

TerminateWatch::~TerminateWatch() {
  active_terminate_watch = nullptr;
}

// Writes with write(), because the lock of a C++ stream may be held by a thread that does not exist in the
// forked child.
void exit_if_forked() {
  const ::pid_t watched_one = exit_handler_state().process;
  if (watched_one == 0 || watched_one == ::getpid()) return;
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kForked.data(), kForked.size());
  ::_exit(static_cast<int>(ExitCode::kConfiguration));
}

void replace_exit_code_zero(std::function<int()> find_exit_code) {
  static std::once_flag asked;
  std::call_once(asked, [] { ::on_exit(on_process_exit, nullptr); });
  const MutexLock lock(exit_handler_state().mutex);
  exit_handler_state().find_exit_code = std::move(find_exit_code);
  exit_handler_state().process = ::getpid();
  exit_handler_state().thread = std::this_thread::get_id();
}

void keep_exit_code_zero() {
  const MutexLock lock(exit_handler_state().mutex);
  exit_handler_state().find_exit_code = nullptr;
  exit_handler_state().process = 0;
}

}  // namespace ratoon::session
