#include "agent/src/checkpoint/disk/calls_with_timeout.h"

#include <chrono>
#include <deque>
#include <system_error>
#include <thread>

#include "base/core/threads/condition_variable.h"

namespace ratoon::checkpoint {

// The threads share ownership of the state, because a thread that hangs in a call outlives the
// CallsWithTimeout.
struct CallsWithTimeout::SharedState {
  Mutex mutex;
  ConditionVariable changed;
  std::deque<std::function<void()>> jobs RATOON_GUARDED_BY(mutex);
  std::size_t idle RATOON_GUARDED_BY(mutex) = 0;
  bool is_ending RATOON_GUARDED_BY(mutex) = false;

  void work() {
    MutexLock lock(mutex);
    for (;;) {
      ++idle;
      changed.wait(lock, [this]() RATOON_REQUIRES(mutex) { return is_ending || !jobs.empty(); });
      --idle;
      if (jobs.empty()) return;
      auto job = std::move(jobs.front());
      jobs.pop_front();
      lock.unlock();
      job();
      job = nullptr;  // without the lock: destroying its captures may take time
      lock.lock();
    }
  }
};

CallsWithTimeout::CallsWithTimeout(Duration patience, std::shared_ptr<const Clock> clock)
    : timeout_(patience), clock_(std::move(clock)), shared_state_(std::make_shared<SharedState>()) {}

CallsWithTimeout::~CallsWithTimeout() {
  const MutexLock lock(shared_state_->mutex);
  shared_state_->is_ending = true;
  shared_state_->changed.notify_all();
}

Result<void> CallsWithTimeout::begin(std::function<void()> job) {
  const MutexLock lock(shared_state_->mutex);
  if (shared_state_->idle <= shared_state_->jobs.size()) {
    try {
      std::thread([shared = shared_state_] { shared->work(); }).detach();
    } catch (const std::system_error& error) {
      return Error(ErrorKind::kUnavailable,
                   std::string("a thread to call the disk cannot be started: ") + error.what());
    }
  }
  shared_state_->jobs.push_back(std::move(job));
  shared_state_->changed.notify_one();
  return {};
}

Error CallsWithTimeout::abandon_call(const std::string& doing) {
  was_abandoned_->store(true);
  const auto waited = std::chrono::duration_cast<std::chrono::seconds>(timeout_).count();
  return {ErrorKind::kTimeout, doing + ": the disk has not answered for " + std::to_string(waited) +
                                   " s (--disk-timeout); check whether it answers other programs, repair or "
                                   "mount it, and start again"};
}

}  // namespace ratoon::checkpoint
