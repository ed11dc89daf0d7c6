#include "agent/src/checkpoint/tiers/tiers.h"

#include <utility>

#include "agent/src/checkpoint/commit/run_store.h"
#include "agent/src/checkpoint/disk/real/real_disk.h"
#include "agent/src/checkpoint/retention/pins.h"
#include "base/core/random_name.h"

namespace ratoon::checkpoint {

Result<Tiers> Tiers::open(const TierLocations& places, const std::stop_token& stop) {
  std::vector<Tier> tiers;
  if (!places.folder.empty()) {
    auto disk = RealDisk::open_folder(places.folder);
    if (!disk) return disk.error();
    const auto& see = places.folder_wrapper;
    tiers.push_back({.kind_name = places.is_folder_shared ? "volume" : "local",
                     .disk = see ? see(*std::move(disk)) : std::shared_ptr<Disk>(*std::move(disk))});
  }
  for (const std::string& uri : places.stores) {
    auto store = objects::open_store(uri, places.store_options);
    if (!store) return store.error();
    auto disk = std::make_shared<ObjectStoreDisk>(*std::move(store), stop);
    tiers.push_back(
        {.kind_name = "store", .disk = wrap_if_folder_store(disk, places.folder_wrapper), .store = disk});
  }
  if (tiers.empty())
    return Error(ErrorKind::kInvalid,
                 "the run has neither a folder nor a store for its checkpoints: name a folder or a store");
  return Tiers(std::move(tiers));
}

Result<std::vector<TierInventory>> Tiers::list_all_tiers() const {
  std::vector<TierInventory> asked;
  for (const Tier& tier : tiers_) {
    auto found = take_inventory(*tier.disk);
    if (!found) {
      return found.error().with_context("looking for checkpoints in " + tier.disk->shown("manifests") +
                                        " (its checkpoints may be the newest)");
    }
    asked.push_back({.tier = tier.kind_name, .shown = tier.disk->shown(""), .found = *std::move(found)});
  }
  return asked;
}

Result<TieredInventory> Tiers::inventory() const {
  const auto asked = list_all_tiers();
  if (!asked) return asked.error();
  return merge(*asked);
}

Result<void> Tiers::pin(const CheckpointId& id, const std::string& why,
                        const std::function<void(const std::string&)>& tell) const {
  for (std::size_t i = 0; i < tiers_.size(); ++i) {
    Disk& disk = *tiers_[i].disk;
    const auto pinned = checkpoint::pin(disk, id, why, random_hex_name());
    if (pinned) continue;
    if (i == 0) return pinned.error();
    tell("the checkpoint of step " + std::to_string(id.step.value()) + " is not pinned in " + disk.shown("") +
         ": " + pinned.error().message());
  }
  return {};
}

Result<void> Tiers::unpin_step(Step step) const {
  Result<void> first;
  for (const Tier& tier : tiers_) {
    const auto removed = checkpoint::unpin_step(*tier.disk, step);
    if (!removed && first) first = removed.error().with_context(tier.disk->shown(""));
  }
  return first;
}

Result<TierLoadResult> Tiers::load(const TieredCheckpoint& checkpoint, Rank rank) const {
  const ResumePoint point{
      .attempt = checkpoint.id.attempt, .step = checkpoint.id.step, .digest = checkpoint.digest};
  TierLoadResult loaded;
  for (const std::size_t tier : checkpoint.tiers) {
    const auto run = RunStore::open(tiers_.at(tier).disk, random_hex_name());
    if (!run) return run.error();
    auto tensors = run->load(point, rank);
    if (tensors) {
      loaded.tensors = *std::move(tensors);
      loaded.tier = tier;
      return loaded;
    }
    loaded.damaged_copies.emplace_back(tier, tensors.error());
  }
  if (loaded.damaged_copies.empty()) return Error(ErrorKind::kNotFound, "no tier holds the checkpoint");
  // Return the error of the last tier, the store farthest from this machine: users learn more from it than
  // from the error of a broken local disk.
  return loaded.damaged_copies.back().second;
}

}  // namespace ratoon::checkpoint
