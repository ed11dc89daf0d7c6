// RankGroups over the stand-in for NCCL for its tests: streams that can be held, and worlds whose ranks live
// in one process.
#pragma once

#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nccl.h>
#include <poll.h>

#include "tests/support/nccl_stand_in/nccl_stand_in.h"

namespace ratoon::test {

// Does its work in order on a thread of its own.
class OwnStream {
 public:
  OwnStream() : thread_([this] { work(); }) {}
  ~OwnStream() {
    release();
    enqueue([this] { is_over_ = true; });
    thread_.join();
  }
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;

  void enqueue(std::function<void()> work) {
    const std::scoped_lock lock(mutex_);
    work_.push_back(std::move(work));
    changed_.notify_all();
  }
  // Work that is enqueued after this call waits for release().
  void hold() {
    const std::scoped_lock lock(mutex_);
    is_held_ = true;
  }
  void release() {
    const std::scoped_lock lock(mutex_);
    is_held_ = false;
    changed_.notify_all();
  }
  [[nodiscard]] bool is_idle() {
    const std::scoped_lock lock(mutex_);
    return work_.empty();
  }
  void wait_until_idle() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return work_.empty(); });
  }
  [[nodiscard]] cudaStream_t handle() { return reinterpret_cast<cudaStream_t>(this); }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    while (!is_over_) {
      changed_.wait(lock, [&] { return !is_held_ && !work_.empty(); });
      const auto work = work_.front();
      lock.unlock();
      work();
      lock.lock();
      work_.pop_front();
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;
  bool is_held_ = false;
  bool is_over_ = false;
  std::thread thread_;
};

inline void wait_until(const std::function<bool()>& is_so) {
  while (!is_so()) ::poll(nullptr, 0, 1);
}

inline ncclResult_t state_of(ncclComm_t communicator) {
  ncclResult_t state = ncclSuccess;
  EXPECT_EQ(ncclCommGetAsyncError(communicator, &state), ncclSuccess);
  return state;
}

inline void wait_until_ready(ncclComm_t communicator) {
  wait_until([&] { return state_of(communicator) != ncclInProgress; });
}

inline ncclUniqueId make_id() {
  ncclUniqueId id{};
  EXPECT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  return id;
}

inline ncclComm_t begin_rank(const ncclUniqueId& id, int size, int rank) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ncclComm_t made = nullptr;
  EXPECT_EQ(ncclCommInitRankConfig(&made, size, id, rank, &config), ncclInProgress);
  return made;
}

struct Rank {
  ncclComm_t communicator = nullptr;
  OwnStream stream;
};

// The ranks from 0 on that live in this process.
class RanksHere {
 public:
  explicit RanksHere(int count, int world_size = 0) : ranks_(static_cast<std::size_t>(count)) {
    for (int rank = 0; rank < count; ++rank)
      at(rank).communicator = begin_rank(id, world_size == 0 ? count : world_size, rank);
    if (world_size == 0) wait_until_ready();
  }
  ~RanksHere() {
    abort();
    for (Rank& rank : ranks_) rank.stream.release();
  }
  RanksHere(const RanksHere&) = delete;
  RanksHere& operator=(const RanksHere&) = delete;

  [[nodiscard]] Rank& at(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] int count() const { return static_cast<int>(ranks_.size()); }
  void wait_until_ready() {
    for (Rank& rank : ranks_) {
      test::wait_until_ready(rank.communicator);
      EXPECT_EQ(state_of(rank.communicator), ncclSuccess) << ncclGetLastError(nullptr);
    }
  }
  // Calls call(rank's number, rank); each rank is ready before and after.
  void on_each(const std::function<ncclResult_t(int, Rank&)>& call) {
    for (int rank = 0; rank < count(); ++rank) EXPECT_EQ(call(rank, at(rank)), ncclInProgress);
    wait_until_ready();
  }
  void wait_until_idle() {
    for (Rank& rank : ranks_) rank.stream.wait_until_idle();
  }
  void abort() {
    for (Rank& rank : ranks_) {
      const ncclComm_t communicator = std::exchange(rank.communicator, nullptr);
      EXPECT_EQ(ncclCommAbort(communicator), ncclSuccess);  // of NULL, too
    }
  }
  // On as many threads as ranks, since each waits for the others.
  void destroy() {
    std::vector<std::future<ncclResult_t>> results;
    for (Rank& rank : ranks_)
      results.push_back(
          std::async(std::launch::async, ncclCommDestroy, std::exchange(rank.communicator, nullptr)));
    for (auto& result : results) EXPECT_EQ(result.get(), ncclSuccess);
  }

  const ncclUniqueId id = make_id();

 private:
  std::vector<Rank> ranks_;
};

// Sets a setting of the stand-in back to 0 at the end of the object's life.
class StandInSetting {
 public:
  StandInSetting(const char* name, const char* value) : name_(name) {
    EXPECT_EQ(ratoon_nccl_stand_in_set(name, value), 1);
  }
  ~StandInSetting() { clear(); }
  StandInSetting(const StandInSetting&) = delete;
  StandInSetting& operator=(const StandInSetting&) = delete;
  void clear() { EXPECT_EQ(ratoon_nccl_stand_in_set(name_, "0"), 1); }

 private:
  const char* name_;
};

}  // namespace ratoon::test

extern "C" {
[[gnu::used]] inline void ratoon_test_stream_enqueue(void* stream, void (*work)(void*), void* context) {
  static_cast<ratoon::test::OwnStream*>(stream)->enqueue([=] { work(context); });
}
}
