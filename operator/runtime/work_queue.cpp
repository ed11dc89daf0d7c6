#include "operator/runtime/work_queue.h"

#include <algorithm>

namespace ratoon::runtime {
namespace {

constexpr Duration kIdle = std::chrono::seconds(1);

}  // namespace

void WorkQueue::add(const JobKey& key, Timestamp at) {
  {
    const std::lock_guard lock(mutex_);
    const auto [entry, is_new] = due_.emplace(key, at);
    if (!is_new && entry->second <= at) return;
    entry->second = at;
    ++additions_;
  }
  wake_.notify_one();
}

std::optional<JobKey> WorkQueue::take(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    const auto first = std::min_element(due_.begin(), due_.end(),
                                        [](const auto& a, const auto& b) { return a.second < b.second; });
    const Timestamp now = clock_.now();
    if (first != due_.end() && first->second <= now) {
      JobKey key = first->first;
      due_.erase(first);
      return key;
    }
    const Duration pause = first == due_.end() ? kIdle : std::min(kIdle, first->second - now);
    wake_.wait_for(lock, stop, pause, [this, seen = additions_] { return additions_ != seen; });
  }
  return std::nullopt;
}

WorkQueue::Backlog WorkQueue::backlog() const {
  const Timestamp now = clock_.now();
  const std::lock_guard lock(mutex_);
  Backlog found;
  for (const auto& [key, due] : due_) {
    if (due > now) continue;
    ++found.jobs;
    found.longest_seconds = std::max(found.longest_seconds, seconds(now - due));
  }
  return found;
}

}  // namespace ratoon::runtime
