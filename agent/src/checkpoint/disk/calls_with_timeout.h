// CallsWithTimeout: makes calls that may hang forever, for callers that must not hang. A file operation of
// the kernel has no timeout. CallsWithTimeout makes each call on another thread, and the caller waits for the
// result until the timeout.
//
// If a call hangs, CallsWithTimeout abandons the thread that made the call. A call owns all memory that it
// uses, because a call that hangs may return after its caller has ended.
//
// Thread contract: any thread may make a call. Destroy a CallsWithTimeout only when no thread waits for one
// of its calls.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include <ratoon/result.h>

#include "base/core/clock.h"

namespace ratoon::checkpoint {

class CallsWithTimeout {
 public:
  CallsWithTimeout(Duration patience, std::shared_ptr<const Clock> clock);
  ~CallsWithTimeout();
  CallsWithTimeout(const CallsWithTimeout&) = delete;
  CallsWithTimeout& operator=(const CallsWithTimeout&) = delete;

  // Returns the result of `call`, or kTimeout. The error message contains `doing`, such as "reading /run/x".
  // If `call` throws, the exception reaches the caller. `call` is destroyed, with all objects that it owns
  // (such as a lock), before the caller gets its result.
  template <class Call>
  auto operator()(const std::string& doing, Call call) -> std::invoke_result_t<Call> {
    auto task = std::make_shared<std::packaged_task<std::invoke_result_t<Call>()>>(
        [held = std::make_unique<Call>(std::move(call))]() mutable {
          const auto own = std::move(held);
          return (*own)();
        });
    auto result = task->get_future();
    const Timestamp began = clock_->now();
    if (auto begun = begin([task] { (*task)(); }); !begun) return begun.error();
    while (result.wait_for(kPollInterval) != std::future_status::ready) {
      if (clock_->now() - began > timeout_) return abandon_call(doing);
    }
    return result.get();
  }

  // The returned value becomes true when a thread hangs in a call and is abandoned; the process must then end
  // without destroying objects that this thread may use.
  [[nodiscard]] std::shared_ptr<const std::atomic<bool>> was_abandoned() const { return was_abandoned_; }

 private:
  static constexpr auto kPollInterval = std::chrono::milliseconds(20);  // between two looks at the clock
  struct SharedState;
  [[nodiscard]] Result<void> begin(std::function<void()> job);
  [[nodiscard]] Error abandon_call(const std::string& doing);

  const Duration timeout_;
  const std::shared_ptr<const Clock> clock_;
  const std::shared_ptr<SharedState> shared_state_;
  const std::shared_ptr<std::atomic<bool>> was_abandoned_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace ratoon::checkpoint
