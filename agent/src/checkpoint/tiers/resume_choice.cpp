#include "agent/src/checkpoint/tiers/resume_choice.h"

#include <algorithm>
#include <map>
#include <utility>

namespace ratoon::checkpoint {
namespace {

using ById = std::map<CheckpointId, TieredCheckpoint, std::greater<>>;  // newest first

Result<void> add(ById& complete, std::span<const TierInventory> tiers, std::size_t tier,
                 const InventoryEntry& entry) {
  const auto [place, is_new] = complete.try_emplace(
      id_of(entry), TieredCheckpoint{.id = id_of(entry), .digest = entry.digest, .tiers = {}});
  TieredCheckpoint& known = place->second;
  if (!is_new && known.digest != entry.digest) {
    return Error(ErrorKind::kConflict, tiers[known.tiers.front()].shown + " and " + tiers[tier].shown +
                                           " hold different checkpoints of step " +
                                           std::to_string(entry.step.value()) + ", attempt " +
                                           std::to_string(entry.attempt.value()) +
                                           ": one of them is another run's; give each run a name of its own");
  }
  known.tiers.push_back(tier);
  return {};
}

std::string ways_on(const TieredInventory& inventory) {
  const bool is_good = !inventory.complete.empty();
  const CheckpointId newest = is_good ? inventory.complete.front().id : id_of(inventory.damaged.front());
  return "the run is to begin anew, and it has checkpoints up to step " +
         std::to_string(newest.step.value()) + " of attempt " + std::to_string(newest.attempt.value()) +
         ": resume it, or give the new run a name of its own, or allow overwriting, which sets the old "
         "checkpoints aside and deletes none";
}

}  // namespace

Result<TieredInventory> merge(std::span<const TierInventory> tiers) {
  TieredInventory merged;
  ById complete;
  for (std::size_t i = 0; i < tiers.size(); ++i) {
    merged.newest_attempt = std::max(merged.newest_attempt, tiers[i].found.newest_attempt);
    for (const InventoryEntry& entry : tiers[i].found.complete) {
      if (auto added = add(complete, tiers, i, entry); !added) return added.error();
    }
  }
  std::map<CheckpointId, InventoryEntry, std::greater<>> damaged;
  for (const TierInventory& tier : tiers) {
    for (InventoryEntry entry : tier.found.damaged) {
      entry.tier = tier.tier;
      if (!complete.contains(id_of(entry))) damaged.try_emplace(id_of(entry), std::move(entry));
    }
  }
  for (auto& [id, checkpoint] : complete) merged.complete.push_back(std::move(checkpoint));
  for (auto& [id, entry] : damaged) merged.damaged.push_back(std::move(entry));
  return merged;
}

Result<StartChoice> choose_start(const TieredInventory& inventory, const StartWishes& wishes,
                                 const std::function<bool(const TieredCheckpoint&)>& is_usable) {
  using Kind = StartChoice::Kind;
  const Kind anew = wishes.has_load_path ? Kind::kFromLoadPath : Kind::kFromNothing;
  if (inventory.is_of_a_new_run()) return StartChoice{.kind = anew};
  if (!wishes.resumes) {
    if (!wishes.overwrites) return Error(ErrorKind::kAlreadyExists, ways_on(inventory));
    return StartChoice{.kind = anew, .sets_aside_first = true};
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
    // What others can reach as well counts for them too, so it is what is said of it.
    const auto shared = std::find_if(one.tiers.begin(), one.tiers.end(), [&](std::size_t i) {
      return tiers[i].tier == "volume" || tiers[i].tier == "store";
    });
    entries.back().tier = tiers[shared == one.tiers.end() ? one.tiers.front() : *shared].tier;
  }
  entries.insert(entries.end(), inventory.damaged.begin(), inventory.damaged.end());
  return entries;
}

}  // namespace ratoon::checkpoint
