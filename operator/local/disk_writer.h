// DiskWriter: makes calls to a disk in order, on a thread of its own. If a disk hangs, for example because
// its file server is gone, only this thread waits, and not the thread that makes decisions.
//
// Thread contract: only one thread may call it.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <optional>

#include <ratoon/result.h>

#include "base/core/clock.h"
#include "base/core/threads/condition_variable.h"

namespace ratoon::local {

class DiskWriter {
 public:
  // By default, the destructor waits at most this long for one disk call, and then assumes that the call
  // hangs.
  static constexpr Duration kExitTimeout = std::chrono::seconds(10);
  static constexpr std::size_t kQueuedMax = 10'000;

  explicit DiskWriter(Duration leaving_timeout = kExitTimeout);
  // Waits until all calls are done. If one of these calls hangs for the timeout, the destructor drops the
  // later calls and leaves the thread in the hanging call, so a call must own all objects that it uses.
  ~DiskWriter();
  DiskWriter(const DiskWriter&) = delete;
  DiskWriter& operator=(const DiskWriter&) = delete;

  // Adds a disk call to the queue, and returns a future of its outcome, for which the caller may wait for a
  // limited time.
  template <class T>
  [[nodiscard]] std::future<Result<T>> begin(std::function<Result<T>()> call) {
    auto task = std::make_shared<std::packaged_task<Result<T>()>>(std::move(call));
    auto outcome = task->get_future();
    enqueue([task] { (*task)(); });
    return outcome;
  }
  // Adds to the queue a disk call whose outcome has no effect on the run. If the queue is full because the
  // disk hangs, drops the call and returns false.
  bool add(std::function<void()> call);

 private:
  struct Queue {
    Mutex mutex;
    ConditionVariable changed;
    std::deque<std::function<void()>> calls RATOON_GUARDED_BY(mutex);
    std::optional<Timestamp> began RATOON_GUARDED_BY(mutex);  // of the call that is being made
    bool is_stopping RATOON_GUARDED_BY(mutex) = false;
    bool has_ended RATOON_GUARDED_BY(mutex) = false;
  };

  static void run_calls(const std::shared_ptr<Queue>& queue);
  void enqueue(std::function<void()> call);

  const Duration exit_timeout_;
  const std::shared_ptr<Queue> queue_ = std::make_shared<Queue>();  // shared with the thread
};

}  // namespace ratoon::local
