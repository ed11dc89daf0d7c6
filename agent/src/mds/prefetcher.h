// Prefetcher: threads that open shards before anybody reads them, in the order in which they will be needed.
// They begin with the first shard that is asked for, and what was asked for last is all that they do.
//
// Thread contract: any thread; the destructor ends what is under way and waits for it.
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

class Prefetcher {
 public:
  // Opens a shard unless it is open; what goes wrong is told to whoever reads it. Without
  // threads nothing is.
  using Open = std::function<void(std::size_t shard, const std::stop_token& stop)>;

  Prefetcher(std::size_t threads_max, Open open) : threads_max_(threads_max), open_(std::move(open)) {}
  ~Prefetcher();
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  // In place of what was asked for before and is not begun: the future is another one now.
  void ask(std::vector<std::size_t> shards);
  // Whether all that was asked for is begun.
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
