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
    if (!is_new) in_turn_.erase({entry->second, key});
    entry->second = at;
    in_turn_.emplace(at, key);
    ++additions_;
  }
  wake_.notify_one();
}

std::optional<JobKey> WorkQueue::take_due(Timestamp now) {
  const auto first = in_turn_.begin();
  if (first == in_turn_.end() || first->first > now) return std::nullopt;
  JobKey key = first->second;
  in_turn_.erase(first);
  due_.erase(key);
  return key;
}

std::optional<JobKey> WorkQueue::take_due() {
  const Timestamp now = clock_.now();
  const std::lock_guard lock(mutex_);
  return take_due(now);
}

std::optional<JobKey> WorkQueue::take(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    const Timestamp now = clock_.now();
    if (auto key = take_due(now)) return key;
    const auto first = in_turn_.begin();
    const Duration pause = first == in_turn_.end() ? kIdle : std::min(kIdle, first->first - now);
    wake_.wait_for(lock, stop, pause, [this, seen = additions_] { return additions_ != seen; });
  }
  return std::nullopt;
}

WorkQueue::Backlog WorkQueue::backlog() const {
  const Timestamp now = clock_.now();
  const std::lock_guard lock(mutex_);
  Backlog found;
  for (const auto& [due, key] : in_turn_) {
    if (due > now) break;
    ++found.jobs;
    found.longest_seconds = std::max(found.longest_seconds, seconds(now - due));
  }
  return found;
}

}  // namespace ratoon::runtime
