#include "operator/core/resume_point.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>

namespace ratoon::core {

std::optional<ResumePoint> pick_resume_point(const std::vector<JoinRequest>& joiners) {
  struct Reach {
    bool is_shared = false;
    std::set<std::size_t> holders;  // positions in joiners
  };
  std::map<std::tuple<Attempt, Step, std::string>, Reach> candidates;  // ordered: the last is the newest
  for (std::size_t i = 0; i < joiners.size(); ++i) {
    for (const auto& entry : joiners[i].inventory) {
      if (!entry.is_complete) continue;
      Reach& reach = candidates[{entry.attempt, entry.step, entry.digest}];
      reach.is_shared = reach.is_shared || entry.tier == "volume" || entry.tier == "store";
      reach.holders.insert(i);
    }
  }
  const auto best = std::find_if(candidates.rbegin(), candidates.rend(), [&](const auto& candidate) {
    return candidate.second.is_shared || candidate.second.holders.size() == joiners.size();
  });
  if (best == candidates.rend()) return std::nullopt;
  const auto& [attempt, step, digest] = best->first;
  return ResumePoint{.attempt = attempt, .step = step, .digest = digest};
}

}  // namespace ratoon::core
