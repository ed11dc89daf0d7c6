// PatientCalls: calls that may hang for ever, and callers that do not. A call into the kernel cannot be given
// a deadline; so a thread of ours makes it, and who wants its result waits for as long as its patience lasts.
//
// A thread that hangs is left behind. Whatever its call uses belongs to the call: the caller may be gone when
// it comes back.
//
// Thread contract: any thread. It is destroyed when no call is waited for any more.
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

class PatientCalls {
 public:
  PatientCalls(Duration patience, std::shared_ptr<const Clock> clock);
  ~PatientCalls();
  PatientCalls(const PatientCalls&) = delete;
  PatientCalls& operator=(const PatientCalls&) = delete;

  // The result of `call`, or kTimeout, which names `doing`: "reading /run/x". Exceptions pass. What the call
  // holds, a lock say, is let go of before its result is there.
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
    while (result.wait_for(kLook) != std::future_status::ready) {
      if (clock_->now() - began > patience_) return give_up(doing);
    }
    return result.get();
  }

  // Whether a thread was left behind: the process must not be torn down around it.
  [[nodiscard]] std::shared_ptr<const std::atomic<bool>> was_abandoned() const { return was_abandoned_; }

 private:
  static constexpr auto kLook = std::chrono::milliseconds(20);  // at the clock, between two waits
  struct Shared;
  [[nodiscard]] Result<void> begin(std::function<void()> job);
  [[nodiscard]] Error give_up(const std::string& doing);

  const Duration patience_;
  const std::shared_ptr<const Clock> clock_;
  const std::shared_ptr<Shared> shared_;
  const std::shared_ptr<std::atomic<bool>> was_abandoned_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace ratoon::checkpoint
