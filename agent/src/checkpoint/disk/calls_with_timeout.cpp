#include "agent/src/checkpoint/disk/calls_with_timeout.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>

namespace ratoon::checkpoint {

// The threads share ownership of the state, because a thread that hangs in a call outlives the
// CallsWithTimeout.
struct CallsWithTimeout::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  // Guarded by mutex.
  std::deque<std::function<void()>> jobs;
  std::size_t idle = 0;
  bool is_ending = false;

  void work() {
    std::unique_lock lock(mutex);
    for (;;) {
      ++idle;
      changed.wait(lock, [this] { return is_ending || !jobs.empty(); });
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
    : timeout_(patience), clock_(std::move(clock)), shared_(std::make_shared<Shared>()) {}

CallsWithTimeout::~CallsWithTimeout() {
  const std::lock_guard lock(shared_->mutex);
  shared_->is_ending = true;
  shared_->changed.notify_all();
}

Result<void> CallsWithTimeout::begin(std::function<void()> job) {
  const std::lock_guard lock(shared_->mutex);
  if (shared_->idle <= shared_->jobs.size()) {
    try {
      std::thread([shared = shared_] { shared->work(); }).detach();
    } catch (const std::system_error& error) {
      return Error(ErrorKind::kUnavailable,
                   std::string("a thread to call the disk cannot be started: ") + error.what());
    }
  }
  shared_->jobs.push_back(std::move(job));
  shared_->changed.notify_one();
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
