#include "tests/support/accelerator/stream.h"

#include <thread>
#include <utility>

#include "tests/support/accelerator/lag.h"

namespace ratoon::test::accelerator {

Stream::Stream(int device, std::int64_t id) : device_(device), id_(id) {
  thread_ = std::thread([this] { work_forever(); });
}

void Stream::enqueue(std::function<void()> work) {
  add({.work = std::move(work), .lags = true});
}

void Stream::enqueue_mark(std::function<void()> mark) {
  add({.work = std::move(mark), .lags = false});
}

void Stream::add(Piece piece) {
  const std::lock_guard lock(mutex_);
  queue_.push_back(std::move(piece));
  ++enqueued_;
  has_changed_.notify_all();
}

bool Stream::is_idle() {
  const std::lock_guard lock(mutex_);
  return ended_ == enqueued_;
}

void Stream::wait_until_idle() {
  std::unique_lock lock(mutex_);
  has_changed_.wait(lock, [this, wanted = enqueued_] { return ended_ >= wanted; });
}

void Stream::lag_behind() {
  const Lag now = lag();
  if (now.version != std::exchange(lag_version_, now.version)) {
    const std::uint64_t mixed =
        now.seed * 1000003 + static_cast<std::uint64_t>(id_) * 10007 + static_cast<std::uint64_t>(device_);
    random_.seed(static_cast<std::uint_fast32_t>(mixed % 2147483646 + 1));
  }
  const auto pause = lag_of(
      static_cast<double>(random_() - random_.min()) / static_cast<double>(random_.max() - random_.min()),
      now.longest);
  if (pause.count() > 0) std::this_thread::sleep_for(pause);
}

void Stream::work_forever() {
  std::unique_lock lock(mutex_);
  while (true) {
    has_changed_.wait(lock, [this] { return !queue_.empty(); });
    Piece piece = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    if (piece.lags) lag_behind();
    piece.work();
    piece = {};  // what it kept alive ends before the stream says that the work has ended
    lock.lock();
    ++ended_;
    has_changed_.notify_all();
  }
}

}  // namespace ratoon::test::accelerator
