// ShardPrefetcher: threads that open shards before samples are read from the shards. The threads open the
// shards in the order in which they will be read. The first request starts the threads, and a newer request
// replaces all older requests.
//
// Thread contract: any thread may call any function; the destructor requests a stop of the threads and waits
// until they end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <stop_token>
#include <thread>
#include <vector>

#include "base/core/threads/condition_variable.h"

namespace ratoon::mds {

class ShardPrefetcher {
 public:
  // A function that opens a shard if it is not open yet. ShardPrefetcher ignores errors of opening a shard,
  // because the thread that reads the shard later gets the same error. If the number of threads is 0, the
  // `OpenFunction` is never called.
  using OpenFunction = std::function<void(std::size_t shard, const std::stop_token& stop)>;

  ShardPrefetcher(std::size_t threads_max, OpenFunction open)
      : threads_max_(threads_max), open_(std::move(open)) {}
  ~ShardPrefetcher();
  ShardPrefetcher(const ShardPrefetcher&) = delete;
  ShardPrefetcher& operator=(const ShardPrefetcher&) = delete;

  // Requests shards, and withdraws all earlier requests for shards that are not being opened yet. Call
  // request_shards() when the samples that will be read next have changed.
  void request_shards(std::vector<std::size_t> shards);
  // Returns true if each requested shard is open or is being opened.
  [[nodiscard]] bool is_idle() const;

 private:
  void run_worker(const std::stop_token& stop);

  const std::size_t threads_max_;
  const OpenFunction open_;
  mutable Mutex mutex_;
  StoppableConditionVariable shards_requested_;
  std::deque<std::size_t> requested_shards_ RATOON_GUARDED_BY(mutex_);
  std::vector<std::jthread> threads_ RATOON_GUARDED_BY(mutex_);
};

}  // namespace ratoon::mds
