#include "operator/core/silence.h"

#include <algorithm>

#include "operator/core/roster.h"

namespace ratoon::core {
namespace {

constexpr int kMassFactor = 10;

// A member that has a living pod, and whoever of its processes was heard longest ago.
struct Listened {
  const api::ProcessFacts* quietest;
  Timestamp heard;
};

struct Members {
  std::vector<Listened> listened;
  std::size_t completed = 0;
};

Members find_members(const Observation& seen) {
  Members found;
  for (const auto& member : desired_members(seen.job)) {
    if (is_completed(seen, member)) ++found.completed;
    const api::Pod* pod = find_pod(seen, member);
    if (pod == nullptr || pod->has_ended() || pod->is_deleting || is_completed(seen, member)) continue;
    const api::ProcessFacts* quietest = nullptr;
    for (const auto& process : seen.processes) {
      if (process.identity.member_uid != pod->uid || process.is_completed) continue;
      if (quietest == nullptr || process.last_heard < quietest->last_heard) quietest = &process;
    }
    if (quietest != nullptr)
      found.listened.push_back({quietest, std::max(quietest->last_heard, seen.listening_since)});
  }
  return found;
}

}  // namespace

Silence find_silent(const Observation& seen, Timestamp now) {
  const Duration limit = std::chrono::seconds(seen.job.spec.disruption_policy.suspect_after_seconds);
  Silence result;
  const auto check_at = [&](Timestamp moment) {
    result.next_check = std::min(moment, result.next_check.value_or(moment));
  };
  auto [silent, others] = find_members(seen);
  std::erase_if(silent, [&, &talking = others](const Listened& member) {
    if (now - member.heard >= limit) return false;
    ++talking;
    check_at(member.heard + limit);
    return true;
  });
  // Those that are judged lost are no part of the silence of the rest: judge again without them.
  for (bool is_settled = false; !is_settled;) {
    const bool is_mass_silence = silent.size() > 1 && silent.size() > others;
    const Duration patience = is_mass_silence ? limit * kMassFactor : limit;
    is_settled = std::erase_if(silent, [&](const Listened& member) {
                   if (now - member.heard < patience) return false;
                   result.lost.push_back(*member.quietest);
                   return true;
                 }) == 0;
    if (!is_settled) continue;
    for (const auto& member : silent) check_at(member.heard + patience);
  }
  return result;
}

}  // namespace ratoon::core
