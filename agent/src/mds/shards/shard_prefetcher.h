// ShardPrefetcher: threads that open shards before they are read, in the order of need. The threads start
// with the first request, and a newer request replaces an older request.
//
// Thread contract: any thread; the destructor stops the running work and waits for it.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

namespace ratoon::mds {

class ShardPrefetcher {
 public:
  // Opens a shard unless it is open. Errors are not reported here, because the reader of the shard gets them.
  // With 0 threads, `Open` is never called.
  using Open = std::function<void(std::size_t shard, const std::stop_token& stop)>;

  ShardPrefetcher(std::size_t threads_max, Open open) : threads_max_(threads_max), open_(std::move(open)) {}
  ~ShardPrefetcher();
  ShardPrefetcher(const ShardPrefetcher&) = delete;
  ShardPrefetcher& operator=(const ShardPrefetcher&) = delete;

  // Replaces the requested shards that are not yet being opened. Call ask() when the expected samples change.
  void ask(std::vector<std::size_t> shards);
  // Returns whether all requested shards are being opened or are open.
  [[nodiscard]] bool is_idle() const;

 private:
  void work(const std::stop_token& stop);

  const std::size_t threads_max_;
  const Open open_;
  mutable std::mutex mutex_;
  std::condition_variable_any asked_;
  std::deque<std::size_t> next_;
  std::vector<std::jthread> threads_;
};

}  // namespace ratoon::mds
