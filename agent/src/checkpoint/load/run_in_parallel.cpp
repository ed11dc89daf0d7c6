#include "agent/src/checkpoint/load/run_in_parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "base/core/threads/mutex.h"

namespace ratoon::checkpoint {
namespace {

class TaskList {
 public:
  using Task = std::function<Result<void>(std::size_t, std::size_t)>;
  TaskList(std::size_t count, const Task& task) : count_(count), task_(task) {}

  void work(std::size_t thread) {
    while (!has_failed_) {
      const std::size_t i = next_++;
      if (i >= count_) return;
      if (auto done = attempt(i, thread); !done) note(i, done.error());
    }
  }

  Result<void> result() const {
    if (error_) return *error_;
    return {};
  }

 private:
  // Turns exceptions of a task, such as std::bad_alloc, into errors: no exception may leave a thread.
  Result<void> attempt(std::size_t i, std::size_t thread) {
    try {
      return task_(i, thread);
    } catch (const std::exception& error) {
      return Error(ErrorKind::kUnavailable, std::string("reading a checkpoint: ") + error.what());
    }
  }

  void note(std::size_t i, const Error& error) {
    const MutexLock lock(mutex_);
    if (!error_ || i < error_of_) {
      error_ = error;
      error_of_ = i;
    }
    has_failed_ = true;
  }

  const std::size_t count_;
  const Task& task_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> has_failed_{false};
  Mutex mutex_;
  // error_ has no annotation, because result() reads it without the lock after the other threads have ended.
  std::optional<Error> error_;
  std::size_t error_of_ RATOON_GUARDED_BY(mutex_) = 0;
};

}  // namespace

Result<void> run_in_parallel(std::size_t count, std::size_t threads,
                             const std::function<Result<void>(std::size_t, std::size_t)>& task) {
  TaskList tasks(count, task);
  {
    std::vector<std::jthread> others;
    try {
      for (std::size_t i = 1; i < std::min(threads, count); ++i)
        others.emplace_back([&tasks, i] { tasks.work(i); });
    } catch (const std::system_error&) {  // the system starts no further thread: the others do the work
    }
    tasks.work(0);
  }
  return tasks.result();
}

}  // namespace ratoon::checkpoint
