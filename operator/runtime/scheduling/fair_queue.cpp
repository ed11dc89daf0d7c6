#include "operator/runtime/scheduling/fair_queue.h"

#include <algorithm>
#include <tuple>

namespace ratoon::runtime {

bool FairQueue::NamespaceLine::is_unused() const {
  return taken == 0 && std::ranges::all_of(turns, [](const Turns& some) { return some.empty(); });
}

FairQueue::Turns& FairQueue::turns_of(NamespaceLine& line, bool is_slow, Urgency urgency) {
  return line.turns[(is_slow ? 2U : 0U) + (urgency == Urgency::kDisruption ? 0U : 1U)];
}

void FairQueue::add(const JobKey& key, Urgency urgency, Timestamp due) {
  // A namespace without waiting jobs comes back as if just served, so after all other namespaces.
  NamespaceLine& line = lines_.try_emplace(key.name_space, NamespaceLine{.served = takes_}).first->second;
  if (turns_of(line, slow_.contains(key), urgency).emplace(due, key).second) ++waiting_;
}

void FairQueue::remove(const JobKey& key, Urgency urgency, Timestamp due) {
  const auto line = lines_.find(key.name_space);
  if (line == lines_.end()) return;
  waiting_ -= turns_of(line->second, slow_.contains(key), urgency).erase({due, key});
  if (line->second.is_unused()) lines_.erase(line);
}

FairQueue::Candidate FairQueue::first_of(NamespaceLine& line, Timestamp now) const {
  Candidate first;
  if (line.taken >= limits_.each_max) return first;
  const bool may_be_slow = slow_taken_.size() < limits_.slow_max && line.slow_taken < limits_.slow_each_max;
  for (const bool is_slow : {false, true}) {
    if (is_slow && !may_be_slow) continue;
    for (const Urgency urgency : {Urgency::kDisruption, Urgency::kRoutine}) {
      Turns& turns = turns_of(line, is_slow, urgency);
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

std::optional<JobKey> FairQueue::take(Timestamp now) {
  if (waiting_ == 0) return std::nullopt;
  Candidate best;
  for (auto& [name_space, line] : lines_) {
    const Candidate next = first_of(line, now);
    if (next.line != nullptr && (best.line == nullptr || is_before(next, best))) best = next;
  }
  if (best.line == nullptr) return std::nullopt;
  JobKey key = std::move(best.turns->extract(best.turns->begin()).value().second);
  --waiting_;
  ++best.line->taken;
  best.line->served = ++takes_;
  if (slow_.contains(key)) {
    slow_taken_.insert(key);
    ++best.line->slow_taken;
  }
  return key;
}

void FairQueue::give_back(const JobKey& key, Duration turn) {
  const auto line = lines_.find(key.name_space);
  if (line == lines_.end() || line->second.taken == 0) return;
  --line->second.taken;
  line->second.slow_taken -= slow_taken_.erase(key);
  if (turn >= kSlowTurn)
    slow_.insert(key);
  else
    slow_.erase(key);
  if (line->second.is_unused()) lines_.erase(line);
}

FairQueue::Backlog FairQueue::backlog(Timestamp now) const {
  Backlog found{.jobs = waiting_};
  for (const auto& [name_space, line] : lines_)
    for (const Turns& turns : line.turns)
      if (!turns.empty())
        found.longest_seconds = std::max(found.longest_seconds, seconds(now - turns.begin()->first));
  return found;
}

}  // namespace ratoon::runtime
