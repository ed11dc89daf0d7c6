#include "operator/runtime/jobs/work_queue.h"

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
  if (is_asked && !entry.is_taken) {
    const Turn turn{entry.urgency, *entry.due, key};
    in_turn_.erase(turn);
    if (const auto held = over_limit_.find(key.name_space); held != over_limit_.end())
      held->second.erase(turn);
  }
  entry.due = is_asked ? std::min(*entry.due, at) : at;
  entry.urgency = is_asked ? std::min(entry.urgency, urgency) : urgency;
  if (!entry.is_taken) enqueue(key, entry);
}

void WorkQueue::enqueue(const JobKey& key, const Entry& entry) {
  const auto [turn, is_new] = in_turn_.emplace(entry.urgency, *entry.due, key);
  ++changes_;
  // Wake a thread if the first job's time is now earlier than before. Any waiting thread can take a job that
  // is due.
  if (is_first_due())
    wake_.notify_one();
  else if (turn == in_turn_.begin())
    wake_.notify_all();
}

bool WorkQueue::is_first_due() const {
  return !in_turn_.empty() && std::get<Timestamp>(*in_turn_.begin()) <= clock_.now();
}

std::optional<JobKey> WorkQueue::take_first() {
  while (is_first_due()) {
    const Turn turn = *in_turn_.begin();
    in_turn_.erase(in_turn_.begin());
    const JobKey& key = std::get<JobKey>(turn);
    std::size_t& out = out_[key.name_space];
    if (out >= each_max_) {
      over_limit_[key.name_space].insert(turn);
      continue;
    }
    ++out;
    Entry& entry = entries_[key];
    entry = {.is_taken = true, .taken_disrupted = entry.disrupted};
    return key;
  }
  return std::nullopt;
}

// Now a thread may take the first waiting job of the namespace.
void WorkQueue::note_returned(const std::string& name_space) {
  if (const auto out = out_.find(name_space); out != out_.end() && --out->second == 0) out_.erase(out);
  const auto held = over_limit_.find(name_space);
  if (held == over_limit_.end()) return;
  if (!held->second.empty()) {
    in_turn_.insert(held->second.extract(held->second.begin()));
    ++changes_;
    wake_.notify_all();
  }
  if (held->second.empty()) over_limit_.erase(held);
}

std::optional<JobKey> WorkQueue::take_due() {
  const std::lock_guard lock(mutex_);
  return take_first();
}

std::optional<JobKey> WorkQueue::take(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    if (auto key = take_first()) {
      if (!in_turn_.empty()) wake_.notify_one();  // for the next one, due now or later
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
  wake_.notify_one();  // another thread may have to wait for the next moment
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
  note_returned(key.name_space);
  if (entry->second.due)
    enqueue(key, entry->second);
  else
    entries_.erase(entry);
}

WorkQueue::Backlog WorkQueue::backlog() const {
  const Timestamp now = clock_.now();
  const std::lock_guard lock(mutex_);
  Backlog found;
  const auto count = [&](Timestamp due) {
    ++found.jobs;
    found.longest_seconds = std::max(found.longest_seconds, seconds(now - due));
  };
  for (const auto& [urgency, due, key] : in_turn_) {
    if (due > now) break;  // disruptions, which come first, are due at once
    count(due);
  }
  for (const auto& [name_space, turns] : over_limit_)
    for (const auto& turn : turns) count(std::get<Timestamp>(turn));
  return found;
}

}  // namespace ratoon::runtime
