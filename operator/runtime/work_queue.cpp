#include "operator/runtime/work_queue.h"

#include <algorithm>

namespace ratoon::runtime {
void WorkQueue::add(const JobKey& key, Timestamp at) {
  ask(key, at, Urgency::kRoutine);
}

void WorkQueue::add_now(const JobKey& key, Urgency urgency) {
  ask(key, clock_.now(), urgency);
}

void WorkQueue::ask(const JobKey& key, Timestamp at, Urgency urgency) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[key];
  const bool is_asked = entry.due.has_value();
  if (urgency == Urgency::kDisruption && !entry.disrupted) entry.disrupted = at;
  if (is_asked && *entry.due <= at && entry.urgency <= urgency) return;
  if (is_asked && !entry.is_taken) in_turn_.erase({entry.urgency, *entry.due, key});
  entry.due = is_asked ? std::min(*entry.due, at) : at;
  entry.urgency = is_asked ? std::min(entry.urgency, urgency) : urgency;
  if (!entry.is_taken) line_up(key, entry);
}

void WorkQueue::line_up(const JobKey& key, const Entry& entry) {
  const auto [turn, is_new] = in_turn_.emplace(entry.urgency, *entry.due, key);
  ++changes_;
  // Who waits for the next moment must learn of an earlier one; what is due already anybody can take.
  if (is_first_due())
    wake_.notify_one();
  else if (turn == in_turn_.begin())
    wake_.notify_all();
}

bool WorkQueue::is_first_due() const {
  return !in_turn_.empty() && std::get<Timestamp>(*in_turn_.begin()) <= clock_.now();
}

JobKey WorkQueue::take_first() {
  JobKey key = std::get<JobKey>(*in_turn_.begin());
  in_turn_.erase(in_turn_.begin());
  Entry& entry = entries_[key];
  entry = {.is_taken = true, .taken_disrupted = entry.disrupted};
  return key;
}

std::optional<JobKey> WorkQueue::take_due() {
  const std::lock_guard lock(mutex_);
  if (!is_first_due()) return std::nullopt;
  return take_first();
}

std::optional<JobKey> WorkQueue::take(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    if (is_first_due()) {
      JobKey key = take_first();
      if (!in_turn_.empty()) wake_.notify_one();  // to take the next one, or to wait for its moment
      return key;
    }
    const auto is_changed = [this, seen = changes_] { return changes_ != seen; };
    if (is_watched_) {
      wake_.wait(lock, stop, [&] { return !is_watched_ || is_changed(); });
      continue;
    }
    is_watched_ = true;
    const Duration pause =
        in_turn_.empty() ? idle_ : std::min(idle_, std::get<Timestamp>(*in_turn_.begin()) - clock_.now());
    wake_.wait_for(lock, stop, pause, is_changed);
    is_watched_ = false;
  }
  wake_.notify_one();  // another one may have to watch
  return std::nullopt;
}

std::optional<Timestamp> WorkQueue::disrupted_since(const JobKey& key) const {
  const std::lock_guard lock(mutex_);
  const auto entry = entries_.find(key);
  return entry == entries_.end() ? std::nullopt : entry->second.taken_disrupted;
}

void WorkQueue::done(const JobKey& key) {
  const std::lock_guard lock(mutex_);
  const auto entry = entries_.find(key);
  if (entry == entries_.end() || !entry->second.is_taken) return;
  entry->second.is_taken = false;
  entry->second.taken_disrupted.reset();
  if (entry->second.due)
    line_up(key, entry->second);
  else
    entries_.erase(entry);
}

WorkQueue::Backlog WorkQueue::backlog() const {
  const Timestamp now = clock_.now();
  const std::lock_guard lock(mutex_);
  Backlog found;
  for (const auto& [urgency, due, key] : in_turn_) {
    if (due > now) break;  // disruptions, which come first, are due at once
    ++found.jobs;
    found.longest_seconds = std::max(found.longest_seconds, seconds(now - due));
  }
  return found;
}

}  // namespace ratoon::runtime
