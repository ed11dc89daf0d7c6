#include "agent/src/mds/prefetcher.h"

#include <algorithm>

namespace ratoon::mds {
namespace {

constexpr std::size_t kAskedMax = 4096;

}  // namespace

Prefetcher::~Prefetcher() {
  for (std::jthread& thread : threads_) thread.request_stop();
  threads_.clear();  // waits
}

void Prefetcher::ask(std::span<const std::size_t> shards) {
  if (threads_max_ == 0) return;
  const std::lock_guard lock(mutex_);
  for (const std::size_t shard : shards) {
    if (next_.size() == kAskedMax) break;
    if (std::find(next_.begin(), next_.end(), shard) != next_.end()) continue;
    next_.push_back(shard);
    asked_.notify_one();
  }
  while (threads_.size() < std::min(threads_max_, next_.size()))
    threads_.emplace_back([this](const std::stop_token& stop) { work(stop); });
}

void Prefetcher::work(const std::stop_token& stop) {
  while (true) {
    std::unique_lock lock(mutex_);
    // Told to stop, it leaves what is still asked for.
    if (!asked_.wait(lock, stop, [&] { return !next_.empty(); }) || stop.stop_requested()) return;
    const std::size_t shard = next_.front();
    next_.pop_front();
    lock.unlock();
    open_(shard, stop);
  }
}

}  // namespace ratoon::mds
