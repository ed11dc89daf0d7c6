#include "operator/core/silence.h"

#include <algorithm>

namespace ratoon::core {

Silence find_silent(const Observation& seen, Timestamp now) {
  constexpr int kMassFactor = 10;
  const Duration limit = std::chrono::seconds(seen.job.spec.disruption_policy.suspect_after_seconds);

  Silence result;
  std::vector<const api::ProcessFacts*> silent;
  for (const auto& process : seen.processes) {
    if (process.is_completed) continue;
    const Timestamp heard = std::max(process.last_heard, seen.listening_since);
    if (now - heard >= limit)
      silent.push_back(&process);
    else if (!result.next_check || heard + limit < *result.next_check)
      result.next_check = heard + limit;
  }
  const bool is_mass_silence = silent.size() > 1 && silent.size() * 2 > seen.processes.size();
  for (const auto* process : silent) {
    const Timestamp heard = std::max(process->last_heard, seen.listening_since);
    const Timestamp judged_at = heard + (is_mass_silence ? limit * kMassFactor : limit);
    if (judged_at <= now)
      result.lost.push_back(*process);
    else if (!result.next_check || judged_at < *result.next_check)
      result.next_check = judged_at;
  }
  return result;
}

}  // namespace ratoon::core
