#include "agent/src/checkpoint/tiers/resume_choice.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/contract/resume_point.h"

namespace ratoon::checkpoint {
namespace {

using CheckpointsById = std::map<CheckpointId, TieredCheckpoint, std::greater<>>;  // newest first

Result<void> add_copy(CheckpointsById& complete, std::span<const TierInventory> tiers, std::size_t tier,
                      const InventoryEntry& entry) {
  const auto [place, is_new] = complete.try_emplace(
      id_of(entry), TieredCheckpoint{.id = id_of(entry), .digest = entry.digest, .tiers = {}});
  TieredCheckpoint& known = place->second;
  if (!is_new && known.digest != entry.digest) {
    return Error(ErrorKind::kConflict,
                 tiers[known.tiers.front()].shown + " and " + tiers[tier].shown +
                     " hold different checkpoints of step " + std::to_string(entry.step.value()) +
                     ", attempt " + std::to_string(entry.attempt.value()) +
                     ": one of the checkpoints belongs to another run; give each run a name of its own");
  }
  known.tiers.push_back(tier);
  return {};
}

std::string existing_checkpoints_message(const TieredInventory& inventory, bool can_overwrite) {
  const bool is_good = !inventory.complete.empty();
  const auto& others = inventory.damaged.empty() ? inventory.given_up : inventory.damaged;
  const CheckpointId newest = is_good ? inventory.complete.front().id : id_of(others.front());
  return "the run has checkpoints up to step " + std::to_string(newest.step.value()) + " of attempt " +
         std::to_string(newest.attempt.value()) +
         ", but must not resume from them (--autoresume false): set --autoresume=true to resume from them, " +
         (can_overwrite ? "--overwrite=true to set them aside and begin anew (none is deleted), " : "") +
         "or another --run-name to begin a new run";
}

}  // namespace

namespace {

// A rollback is in force for all tiers (the run's folder and its stores), even if only some of them have its
// record.
Result<std::vector<Rollback>> rollbacks_of(std::span<const TierInventory> tiers) {
  std::map<Attempt, Rollback> all;
  for (const TierInventory& tier : tiers) {
    for (const Rollback& one : tier.found.rollbacks) {
      if (all.try_emplace(one.attempt, one).first->second == one) continue;
      return Error(ErrorKind::kConflict,
                   tier.shown + " and another place of the run hold different rollbacks of attempt " +
                       std::to_string(one.attempt.value()) +
                       ": one of the rollbacks belongs to another run; give each run a name of its own");
    }
  }
  std::vector<Rollback> oldest_first;
  for (const auto& [attempt, one] : all) oldest_first.push_back(one);
  return oldest_first;
}

}  // namespace

Result<TieredInventory> merge(std::span<const TierInventory> tiers) {
  TieredInventory merged;
  auto rollbacks = rollbacks_of(tiers);
  if (!rollbacks) return rollbacks.error();
  merged.rollbacks = *std::move(rollbacks);
  const auto standing = rollbacks_in_force(merged.rollbacks);
  CheckpointsById complete;
  std::map<CheckpointId, InventoryEntry, std::greater<>> damaged;
  std::set<CheckpointId, std::greater<>> given_up;
  for (std::size_t i = 0; i < tiers.size(); ++i) {
    const Inventory& found = tiers[i].found;
    merged.newest_attempt = std::max(merged.newest_attempt, found.newest_attempt);
    for (const InventoryEntry& entry : found.complete) {
      if (is_given_up(id_of(entry), standing))
        given_up.insert(id_of(entry));
      else if (auto added = add_copy(complete, tiers, i, entry); !added)
        return added.error();
    }
    for (const InventoryEntry& entry : found.given_up) given_up.insert(id_of(entry));
  }
  for (const TierInventory& tier : tiers) {
    for (InventoryEntry entry : tier.found.damaged) {
      entry.tier = tier.tier;
      if (is_given_up(id_of(entry), standing))
        given_up.insert(id_of(entry));
      else if (!complete.contains(id_of(entry)))
        damaged.try_emplace(id_of(entry), std::move(entry));
    }
  }
  for (auto& [id, checkpoint] : complete) merged.complete.push_back(std::move(checkpoint));
  for (auto& [id, entry] : damaged) merged.damaged.push_back(std::move(entry));
  for (const CheckpointId& id : given_up) merged.given_up.push_back(entry_of(id, kAbandonedDigest, false));
  return merged;
}

Result<StartChoice> choose_start(const TieredInventory& inventory, const StartRequest& requests,
                                 const std::function<bool(const TieredCheckpoint&)>& is_usable) {
  using Kind = StartChoice::Kind;
  const Kind anew = requests.has_load_path ? Kind::kFromLoadPath : Kind::kFromNothing;
  if (inventory.is_of_a_new_run()) return StartChoice{.kind = anew};
  if (!requests.resumes) {
    if (!requests.overwrites)
      return Error(ErrorKind::kAlreadyExists,
                   existing_checkpoints_message(inventory, requests.can_overwrite));
    return StartChoice{.kind = anew, .sets_old_checkpoints_aside = true};
  }
  const auto newest = std::find_if(inventory.complete.begin(), inventory.complete.end(), is_usable);
  if (newest == inventory.complete.end()) return StartChoice{.kind = Kind::kNoneIsGood};
  return StartChoice{.kind = Kind::kResume, .checkpoint = *newest};
}

std::vector<InventoryEntry> entries_of(const TieredInventory& inventory,
                                       std::span<const TierInventory> tiers) {
  std::vector<InventoryEntry> entries;
  for (const TieredCheckpoint& one : inventory.complete) {
    entries.push_back(entry_of(one.id, one.digest, true));
    // If several tiers hold the checkpoint, report a shared tier, because other processes can read its copy,
    // too.
    const auto shared = std::find_if(one.tiers.begin(), one.tiers.end(), [&](std::size_t i) {
      return tiers[i].tier == "volume" || tiers[i].tier == "store";
    });
    entries.back().tier = tiers[shared == one.tiers.end() ? one.tiers.front() : *shared].tier;
  }
  entries.insert(entries.end(), inventory.damaged.begin(), inventory.damaged.end());
  return entries;
}

}  // namespace ratoon::checkpoint
