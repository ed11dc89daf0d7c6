#include "agent/src/session/hang.h"

#include <algorithm>
#include <utility>

namespace ratoon::session {
namespace {

bool is_overdue_in(const RankPhase& rank) {
  return rank.allowed && rank.in_phase > *rank.allowed;
}

std::vector<Rank> behind_the_others(std::span<const RankPhase> ranks) {
  const auto by_step = [](const RankPhase& a, const RankPhase& b) { return a.step < b.step; };
  const auto [first, last] = std::minmax_element(ranks.begin(), ranks.end(), by_step);
  std::vector<Rank> behind;
  if (first->step == last->step) return behind;
  for (const RankPhase& rank : ranks)
    if (rank.step == first->step) behind.push_back(rank.rank);
  return behind;
}

}  // namespace

PhaseWatch::PhaseWatch(HangLimits limits, Timestamp began)
    : limits_(std::move(limits)), entered_(began), alive_(began) {}

void PhaseWatch::enter(ProcessPhase phase, Timestamp at) {
  Lasted& lasted = lasted_[static_cast<std::size_t>(phase_)];
  lasted.durations[lasted.count % kLearned] = at - entered_;
  ++lasted.count;
  phase_ = phase;
  entered_ = alive_ = at;
}

void PhaseWatch::still_alive(Timestamp at) {
  alive_ = std::max(alive_, at);
}

std::optional<Duration> PhaseWatch::allowed(ProcessPhase phase) const {
  if (const auto fixed = limits_.fixed.find(phase); fixed != limits_.fixed.end()) return fixed->second;
  if (phase == ProcessPhase::kJoining) return std::nullopt;
  const Lasted& lasted = lasted_[static_cast<std::size_t>(phase)];
  const std::size_t known = std::min(lasted.count, kLearned);
  if (known < kEnough) return std::max(limits_.unlearned, limits_.at_least);
  std::array<Duration, kLearned> sorted = lasted.durations;
  const auto median = sorted.begin() + static_cast<std::ptrdiff_t>(known / 2);
  std::nth_element(sorted.begin(), median, sorted.begin() + static_cast<std::ptrdiff_t>(known));
  return std::max(limits_.at_least, from_seconds(limits_.times_median * seconds(*median)));
}

bool PhaseWatch::is_overdue(Timestamp now) const {
  const auto at_most = allowed(phase_);
  return at_most && in_phase(now) > *at_most;
}

std::optional<Hang> find_hang(std::span<const RankPhase> ranks) {
  Hang hang;
  bool are_all_overdue = !ranks.empty();
  for (const RankPhase& rank : ranks) {
    const bool is_outside = rank.phase != ProcessPhase::kCollective;
    are_all_overdue = are_all_overdue && is_overdue_in(rank);
    if (is_outside && is_overdue_in(rank)) hang.culprits.push_back(rank.rank);
  }
  if (!hang.culprits.empty()) return hang;
  // Whoever is outside, and not to blame, is not overdue.
  if (!are_all_overdue) return std::nullopt;
  return Hang{.culprits = behind_the_others(ranks)};
}

}  // namespace ratoon::session
