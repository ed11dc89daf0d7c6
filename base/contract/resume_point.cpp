#include "base/contract/resume_point.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace ratoon {
namespace {

std::string rollback_flags_of(const std::optional<RollbackRequest>& rollback) {
  if (!rollback) return "no --resume-from";
  return "--resume-from " + std::to_string(rollback->resume_from.value()) + " --skip " +
         std::to_string(rollback->skip);
}

}  // namespace

std::string find_rollback_dispute(const std::vector<JoinRequest>& joiners) {
  for (std::size_t rank = 1; rank < joiners.size(); ++rank) {
    if (joiners[rank].rollback == joiners[0].rollback) continue;
    return "rank 0 was started with " + rollback_flags_of(joiners[0].rollback) + " and rank " +
           std::to_string(rank) + " with " + rollback_flags_of(joiners[rank].rollback) +
           ": give all processes of the run the same flags; no checkpoint was set aside";
  }
  return "";
}

bool is_on_shared_storage(const InventoryEntry& entry) {
  return entry.tier == "volume" || entry.tier == "store";
}

std::optional<ResumePoint> pick_resume_point(const std::vector<JoinRequest>& joiners,
                                             const std::vector<InventoryEntry>& until_now) {
  struct Reach {
    bool by_all = false;
    std::set<std::size_t> holders;  // positions in joiners
  };
  std::map<std::tuple<Attempt, Step, std::string>, Reach> candidates;  // ordered: the last is the newest
  for (std::size_t i = 0; i < joiners.size(); ++i) {
    for (const auto& entry : joiners[i].inventory) {
      if (!entry.is_complete) continue;
      Reach& reach = candidates[{entry.attempt, entry.step, entry.digest}];
      reach.by_all = reach.by_all || is_on_shared_storage(entry);
      reach.holders.insert(i);
    }
  }
  for (const auto& entry : until_now) {
    if (entry.is_complete && is_on_shared_storage(entry))
      candidates[{entry.attempt, entry.step, entry.digest}].by_all = true;
  }
  // All ranks must load the resume point, so a checkpoint that one joining process cannot read is left out.
  for (const auto& joiner : joiners) {
    for (const auto& entry : joiner.inventory) {
      if (entry.is_complete) continue;
      std::erase_if(candidates, [&](const auto& candidate) {
        const auto& [attempt, step, digest] = candidate.first;
        return attempt == entry.attempt && step == entry.step;
      });
    }
  }
  const auto best = std::find_if(candidates.rbegin(), candidates.rend(), [&](const auto& candidate) {
    return candidate.second.by_all || candidate.second.holders.size() == joiners.size();
  });
  if (best == candidates.rend()) return std::nullopt;
  const auto& [attempt, step, digest] = best->first;
  return ResumePoint{.attempt = attempt, .step = step, .digest = digest};
}

bool is_newer(const ResumePoint& one, const ResumePoint& other) {
  return std::pair(one.attempt, one.step) > std::pair(other.attempt, other.step);
}

bool may_be_final_checkpoint(const ResumePoint& last, Attempt attempt, Step step, const std::string& digest) {
  if (attempt != last.attempt || step < last.step) return true;
  return step == last.step && digest == last.digest;
}

}  // namespace ratoon
