#include "operator/runtime/scheduling/work_queue.h"

#include <algorithm>

namespace ratoon::runtime {

void WorkQueue::add(const JobKey& key, Timestamp at) {
  ask(key, at, Urgency::kRoutine);
}

void WorkQueue::add_now(const JobKey& key, Urgency urgency) {
  ask(key, clock_.now(), urgency);
}

void WorkQueue::ask(const JobKey& key, Timestamp at, Urgency urgency) {
  const MutexLock lock(mutex_);
  Entry& entry = entries_[key];
  const bool is_asked = entry.due.has_value();
  if (urgency == Urgency::kDisruption && !entry.disrupted) entry.disrupted = at;
  if (is_asked && *entry.due <= at && entry.urgency <= urgency) return;
  if (is_asked && !entry.taken) remove_from_queues(key, entry);
  entry.due = is_asked ? std::min(*entry.due, at) : at;
  entry.urgency = is_asked ? std::min(entry.urgency, urgency) : urgency;
  if (!entry.taken) enqueue(key, entry);
}

void WorkQueue::enqueue(const JobKey& key, const Entry& entry) {
  ++change_count_;
  if (*entry.due <= clock_.now()) {
    due_.add(key, entry.urgency, *entry.due);
    return wake_.notify_one();  // any waiting thread can take a job that is due
  }
  const auto place = not_yet_due_.emplace(*entry.due, key).first;
  if (place == not_yet_due_.begin())
    wake_.notify_all();  // one thread waits for the first moment, which is earlier now
}

void WorkQueue::remove_from_queues(const JobKey& key, const Entry& entry) {
  if (not_yet_due_.erase({*entry.due, key}) == 0) due_.remove(key, entry.urgency, *entry.due);
}

void WorkQueue::move_due(Timestamp now) {
  for (; !not_yet_due_.empty() && not_yet_due_.begin()->first <= now;
       not_yet_due_.erase(not_yet_due_.begin())) {
    const auto& [due, key] = *not_yet_due_.begin();
    due_.add(key, entries_[key].urgency, due);
  }
}

std::optional<JobKey> WorkQueue::take_first() {
  const Timestamp now = clock_.now();
  move_due(now);
  auto key = due_.take(now);
  if (!key) return key;
  Entry& entry = entries_[*key];
  entry = {.taken = now, .taken_disrupted_since = entry.disrupted};
  return key;
}

std::optional<JobKey> WorkQueue::take_due() {
  const MutexLock lock(mutex_);
  return take_first();
}

std::optional<JobKey> WorkQueue::take(const std::stop_token& stop) {
  MutexLock lock(mutex_);
  while (!stop.stop_requested()) {
    if (auto key = take_first()) {
      if (!due_.is_empty() || !not_yet_due_.empty()) wake_.notify_one();  // for the next one
      return key;
    }
    const auto is_changed = [this, seen = change_count_]()
                                RATOON_REQUIRES(mutex_) { return change_count_ != seen; };
    const auto place_at = due_.next_worker_free_at(clock_.now());
    if (place_at) {  // no event reports that a turn has become long
      wake_.wait_for(lock, stop, *place_at - clock_.now(), is_changed);
      continue;
    }
    if (has_timed_waiter_) {
      wake_.wait(lock, stop, [&]() RATOON_REQUIRES(mutex_) { return !has_timed_waiter_ || is_changed(); });
      continue;
    }
    has_timed_waiter_ = true;
    const Duration pause = not_yet_due_.empty()
                               ? clock_check_interval_
                               : std::min(clock_check_interval_, not_yet_due_.begin()->first - clock_.now());
    wake_.wait_for(lock, stop, pause, is_changed);
    has_timed_waiter_ = false;
  }
  wake_.notify_one();  // another thread may have to wait for the next moment
  return std::nullopt;
}

std::optional<Timestamp> WorkQueue::disrupted_since(const JobKey& key) const {
  const MutexLock lock(mutex_);
  const auto entry = entries_.find(key);
  return entry == entries_.end() ? std::nullopt : entry->second.taken_disrupted_since;
}

void WorkQueue::done(const JobKey& key) {
  const MutexLock lock(mutex_);
  const auto entry = entries_.find(key);
  if (entry == entries_.end() || !entry->second.taken) return;
  due_.give_back(key, clock_.now() - *entry->second.taken);
  entry->second.taken.reset();
  entry->second.taken_disrupted_since.reset();
  if (!due_.is_empty()) {  // a job that waited for this worker may be taken now
    ++change_count_;
    wake_.notify_one();
  }
  if (entry->second.due) return enqueue(key, entry->second);
  entries_.erase(entry);
  due_.forget(key);  // a job that exists has a time for its next decision
}

WorkQueue::Backlog WorkQueue::backlog() const {
  const Timestamp now = clock_.now();
  const MutexLock lock(mutex_);
  Backlog found = due_.backlog(now);
  for (const auto& [due, key] : not_yet_due_) {  // jobs that became due after the last call
    if (due > now) break;
    ++found.jobs;
    found.longest_wait_seconds = std::max(found.longest_wait_seconds, seconds(now - due));
  }
  return found;
}

}  // namespace ratoon::runtime
