#include "agent/src/session/shutdown/process_exit.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <future>
#include <iostream>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

#include "base/core/never_destroyed.h"
#include "base/core/threads/mutex.h"

namespace ratoon::session {
namespace {

constexpr auto kLastLogLineTimeout = std::chrono::seconds(1);

struct SkipConditions {
  Mutex mutex;
  std::vector<std::function<bool()>> list RATOON_GUARDED_BY(mutex);
};

SkipConditions& skip_conditions() {
  static const NeverDestroyed<SkipConditions> all;
  return *all;
}

bool must_skip_teardown() {
  SkipConditions& conditions = skip_conditions();
  const MutexLock lock(conditions.mutex);
  return std::ranges::any_of(conditions.list, [](const auto& holds) { return holds(); });
}

// Returns the function of set_end_handler(), with which a program in another language ends the process.
std::function<void(int, bool)>& end_of_embedder() {
  static const NeverDestroyed<std::function<void(int, bool)>> end;
  return *end;
}

// Returns the function of set_skip_teardown_at_exit().
std::function<void()>& skip_at_end_of_embedder() {
  static const NeverDestroyed<std::function<void()>> skip;
  return *skip;
}

}  // namespace

void skip_teardown_if(std::function<bool()> holds) {
  const MutexLock lock(skip_conditions().mutex);
  skip_conditions().list.push_back(std::move(holds));
}

int leave(int code) {
  if (!must_skip_teardown()) return code;
  const auto& skip = skip_at_end_of_embedder();
  if (!skip) exit_now(code);
  skip();
  return code;
}

void set_end_handler(std::function<void(int code, bool must_skip_teardown)> end) {
  end_of_embedder() = std::move(end);
}

void set_skip_teardown_at_exit(std::function<void()> skip) {
  skip_at_end_of_embedder() = std::move(skip);
}

void end_in_place(int code) {
  if (const auto& end = end_of_embedder()) end(code, must_skip_teardown());
  exit_now(code);
}

bool can_end_with_destructors() {
  return end_of_embedder() && !must_skip_teardown();
}

void exit_now(int code) {
  std::cout.flush();
  std::fflush(nullptr);
  ::_exit(code);
}

void exit_after_log_line(ExitCode code, std::function<void()> say) {
  const auto said = std::make_shared<std::promise<void>>();
  auto is_said = said->get_future();
  try {
    // The thread `saying` needs no join(), because the process ends without running its destructor.
    static std::thread saying([say = std::move(say), said] {
      say();
      said->set_value();
    });
    is_said.wait_for(kLastLogLineTimeout);
  } catch (const std::system_error&) {
    // If no thread can be started, nothing is printed.
  }
  ::_exit(static_cast<int>(code));
}

}  // namespace ratoon::session
