#include "agent/src/mds/shards/shard_prefetcher.h"

#include <algorithm>

namespace ratoon::mds {

ShardPrefetcher::~ShardPrefetcher() {
  for (std::jthread& thread : threads_) thread.request_stop();
  threads_.clear();  // waits for the threads
}

void ShardPrefetcher::request_shards(std::vector<std::size_t> shards) {
  if (threads_max_ == 0) return;
  const MutexLock lock(mutex_);
  requested_shards_.assign(shards.begin(), shards.end());
  while (threads_.size() < std::min(threads_max_, requested_shards_.size()))
    threads_.emplace_back([this](const std::stop_token& stop) { run_worker(stop); });
  if (!requested_shards_.empty()) shards_requested_.notify_all();
}

bool ShardPrefetcher::is_idle() const {
  const MutexLock lock(mutex_);
  return requested_shards_.empty();
}

void ShardPrefetcher::run_worker(const std::stop_token& stop) {
  while (true) {
    MutexLock lock(mutex_);
    // After a stop request, no further shard is opened.
    if (!shards_requested_.wait(lock, stop,
                                [this]() RATOON_REQUIRES(mutex_) { return !requested_shards_.empty(); }) ||
        stop.stop_requested())
      return;
    const std::size_t shard = requested_shards_.front();
    requested_shards_.pop_front();
    lock.unlock();
    try {
      open_(shard, stop);
    } catch (...) {  // memory may be out: the reader opens the shard itself and gets the error
      continue;
    }
  }
}

}  // namespace ratoon::mds
