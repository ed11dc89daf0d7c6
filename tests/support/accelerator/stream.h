// A stream of the test accelerator: a queue of work that its own thread does in order, later than it was
// queued. This file and stream.cpp need no LibTorch.
//
//   auto* stream = static_cast<accelerator::Stream*>(c10_stream.native_handle());
//   stream->enqueue([=] { sum_buffers(mine, theirs); });
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <random>
#include <thread>

namespace ratoon::test::accelerator {

// The Stream* that c10::Stream::native_handle() returns for a stream of this device. The stream lives until
// the process ends.
class Stream {
 public:
  Stream(int device, std::int64_t id);
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // May be called from any thread; returns at once. The work starts after all earlier work of this stream has
  // ended, and a random time later (see lag.h). The work may wait, and then the whole stream waits. The work
  // may enqueue more work, on any stream. The work must not throw: an exception ends the process.
  void enqueue(std::function<void()> work);

  // Does the same, but the work starts as soon as all earlier work has ended: for marks, which cost no time.
  void enqueue_mark(std::function<void()> mark);

  // Whether all work that was enqueued before this call has ended.
  [[nodiscard]] bool is_idle();

  // Waits until all work that was enqueued before this call has ended. Counts nothing.
  void wait_until_idle();

  [[nodiscard]] int device() const { return device_; }
  [[nodiscard]] std::int64_t id() const { return id_; }

 private:
  struct Piece {
    std::function<void()> work;
    bool lags;
  };
  void add(Piece piece);
  void work_forever();
  void lag_behind();

  const int device_;
  const std::int64_t id_;
  std::mutex mutex_;
  std::condition_variable has_changed_;
  std::deque<Piece> queue_;
  std::uint64_t enqueued_ = 0;
  std::uint64_t ended_ = 0;
  std::uint64_t lag_version_ = 0;
  std::minstd_rand random_;
  std::thread thread_;  // never joined: the stream lives until the process ends
};

}  // namespace ratoon::test::accelerator
