#include "operator/runtime/scheduling/fair_queue.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace ratoon::runtime {

bool FairQueue::NamespaceQueue::is_unused() const {
  return taken == 0 && std::ranges::all_of(turns, [](const WaitingJobs& some) { return some.empty(); });
}

FairQueue::WaitingJobs& FairQueue::waiting_jobs_of(NamespaceQueue& line, bool is_slow, Urgency urgency) {
  return line.turns[(is_slow ? 2U : 0U) + (urgency == Urgency::kDisruption ? 0U : 1U)];
}

void FairQueue::add(const JobKey& key, Urgency urgency, Timestamp due) {
  // A namespace that had no waiting jobs and no workers counts as just served: its turn comes after the turns
  // of the other namespaces.
  NamespaceQueue& line =
      namespace_queues_.try_emplace(key.name_space, NamespaceQueue{.served = take_count_}).first->second;
  if (waiting_jobs_of(line, slow_jobs_.contains(key), urgency).emplace(due, key).second) ++waiting_count_;
}

void FairQueue::remove(const JobKey& key, Urgency urgency, Timestamp due) {
  const auto line = namespace_queues_.find(key.name_space);
  if (line == namespace_queues_.end()) return;
  waiting_count_ -= waiting_jobs_of(line->second, slow_jobs_.contains(key), urgency).erase({due, key});
  if (line->second.is_unused()) namespace_queues_.erase(line);
}

FairQueue::Candidate FairQueue::first_of(NamespaceQueue& line, Timestamp now) const {
  Candidate first;
  if (line.taken >= limits_.per_namespace_max) return first;
  const bool may_be_slow =
      slow_taken_jobs_.size() < limits_.slow_max && line.slow_taken_count < limits_.slow_per_namespace_max;
  for (const bool is_slow : {false, true}) {
    if (is_slow && !may_be_slow) continue;
    for (const Urgency urgency : {Urgency::kDisruption, Urgency::kRoutine}) {
      WaitingJobs& turns = waiting_jobs_of(line, is_slow, urgency);
      if (turns.empty()) continue;
      const Timestamp due = turns.begin()->first;
      const Candidate next{.line = &line,
                           .turns = &turns,
                           .is_urgent = urgency == Urgency::kDisruption || now - due >= kRoutineWait,
                           .due = due};
      if (first.line == nullptr || is_before(next, first)) first = next;
    }
  }
  return first;
}

bool FairQueue::is_before(const Candidate& one, const Candidate& other) {
  const auto order = [](const Candidate& of) {
    return std::tuple(of.line->taken, !of.is_urgent, of.line->served, of.due);
  };
  return order(one) < order(other);
}

bool FairQueue::are_all_active(Timestamp now) const {
  if (taken_since_.size() < limits_.active_max) return false;
  const auto active = std::ranges::count_if(
      taken_since_, [&](const auto& taken) { return now - taken.second < kHangingTurn; });
  return std::cmp_greater_equal(active, limits_.active_max);
}

std::optional<Timestamp> FairQueue::next_worker_free_at(Timestamp now) const {
  if (waiting_count_ == 0 || !are_all_active(now)) return std::nullopt;
  std::optional<Timestamp> next;
  for (const auto& [key, since] : taken_since_)
    if (now - since < kHangingTurn)
      next = std::min(since + kHangingTurn, next.value_or(since + kHangingTurn));
  return next;
}

std::optional<JobKey> FairQueue::take(Timestamp now) {
  if (waiting_count_ == 0 || are_all_active(now)) return std::nullopt;
  Candidate best;
  for (auto& [name_space, line] : namespace_queues_) {
    const Candidate next = first_of(line, now);
    if (next.line != nullptr && (best.line == nullptr || is_before(next, best))) best = next;
  }
  if (best.line == nullptr) return std::nullopt;
  JobKey key = std::move(best.turns->extract(best.turns->begin()).value().second);
  --waiting_count_;
  ++best.line->taken;
  best.line->served = ++take_count_;
  taken_since_.emplace(key, now);
  if (slow_jobs_.contains(key)) {
    slow_taken_jobs_.insert(key);
    ++best.line->slow_taken_count;
  }
  return key;
}

void FairQueue::give_back(const JobKey& key, Duration turn) {
  const auto line = namespace_queues_.find(key.name_space);
  if (line == namespace_queues_.end() || line->second.taken == 0) return;
  taken_since_.erase(key);
  --line->second.taken;
  line->second.slow_taken_count -= slow_taken_jobs_.erase(key);
  if (turn >= kSlowTurn)
    slow_jobs_.insert(key);
  else
    slow_jobs_.erase(key);
  if (line->second.is_unused()) namespace_queues_.erase(line);
}

FairQueue::Backlog FairQueue::backlog(Timestamp now) const {
  Backlog found{.jobs = waiting_count_};
  for (const auto& [name_space, line] : namespace_queues_)
    for (const WaitingJobs& turns : line.turns)
      if (!turns.empty())
        found.longest_wait_seconds =
            std::max(found.longest_wait_seconds, seconds(now - turns.begin()->first));
  return found;
}

}  // namespace ratoon::runtime
