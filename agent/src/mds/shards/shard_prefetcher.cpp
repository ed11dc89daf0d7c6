#include "agent/src/mds/shards/shard_prefetcher.h"

#include <algorithm>

namespace ratoon::mds {

ShardPrefetcher::~ShardPrefetcher() {
  for (std::jthread& thread : threads_) thread.request_stop();
  threads_.clear();  // waits for the threads
}

void ShardPrefetcher::ask(std::vector<std::size_t> shards) {
  if (threads_max_ == 0) return;
  const std::lock_guard lock(mutex_);
  next_.assign(shards.begin(), shards.end());
  while (threads_.size() < std::min(threads_max_, next_.size()))
    threads_.emplace_back([this](const std::stop_token& stop) { work(stop); });
  if (!next_.empty()) asked_.notify_all();
}

bool ShardPrefetcher::is_idle() const {
  const std::lock_guard lock(mutex_);
  return next_.empty();
}

void ShardPrefetcher::work(const std::stop_token& stop) {
  while (true) {
    std::unique_lock lock(mutex_);
    // After a stop request, no further shard is opened.
    if (!asked_.wait(lock, stop, [&] { return !next_.empty(); }) || stop.stop_requested()) return;
    const std::size_t shard = next_.front();
    next_.pop_front();
    lock.unlock();
    try {
      open_(shard, stop);
    } catch (...) {  // memory may be out: the reader opens the shard itself and gets the error
      continue;
    }
  }
}

}  // namespace ratoon::mds
