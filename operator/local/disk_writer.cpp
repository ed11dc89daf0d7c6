#include "operator/local/disk_writer.h"

#include <algorithm>
#include <utility>

#include "base/core/threads/start_thread.h"

namespace ratoon::local {

DiskWriter::DiskWriter(Duration leaving_timeout) : exit_timeout_(leaving_timeout) {
  start_thread_without_signals([queue = queue_] { run_calls(queue); }).detach();
}

DiskWriter::~DiskWriter() {
  MutexLock lock(queue_->mutex);
  queue_->is_stopping = true;
  queue_->changed.notify_all();
  const SystemClock clock;
  for (Timestamp waited = clock.now(); !queue_->has_ended;) {
    const Timestamp now = clock.now();
    // Measure each call alone: calls that each end in time may together take longer than the timeout.
    const Timestamp since = queue_->began.value_or(waited);
    if (now - since >= exit_timeout_) break;
    queue_->changed.wait_for(lock, exit_timeout_ - (now - since));
    if (!queue_->began) waited = clock.now();
  }
  queue_->calls.clear();
}

bool DiskWriter::add(std::function<void()> call) {
  const MutexLock lock(queue_->mutex);
  if (queue_->calls.size() >= kQueuedMax) return false;
  queue_->calls.push_back(std::move(call));
  queue_->changed.notify_all();
  return true;
}

void DiskWriter::enqueue(std::function<void()> call) {
  const MutexLock lock(queue_->mutex);
  queue_->calls.push_back(std::move(call));
  queue_->changed.notify_all();
}

void DiskWriter::run_calls(const std::shared_ptr<Queue>& queue) {
  const SystemClock clock;
  MutexLock lock(queue->mutex);
  for (;;) {
    queue->changed.wait(
        lock, [&]() RATOON_REQUIRES(queue->mutex) { return !queue->calls.empty() || queue->is_stopping; });
    if (queue->calls.empty()) break;
    const auto call = std::move(queue->calls.front());
    queue->calls.pop_front();
    queue->began = clock.now();
    lock.unlock();
    call();
    lock.lock();
    queue->began.reset();
    queue->changed.notify_all();
  }
  queue->has_ended = true;
  queue->changed.notify_all();
}

}  // namespace ratoon::local
