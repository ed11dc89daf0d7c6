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
    tiers.push_back({.word = places.is_folder_shared ? "volume" : "local",
                     .disk = see ? see(*std::move(disk)) : std::shared_ptr<Disk>(*std::move(disk))});
  }
  for (const std::string& uri : places.stores) {
    auto store = objects::open_store(uri, places.store_options);
    if (!store) return store.error();
    auto disk = std::make_shared<ObjectStoreDisk>(*std::move(store), stop);
    tiers.push_back({.word = "store", .disk = wrap_store(disk, places.folder_wrapper), .store = disk});
  }
  if (tiers.empty())
    return Error(ErrorKind::kInvalid,
                 "the run has neither a folder nor a store for its checkpoints: name one");
  return Tiers(std::move(tiers));
}

Result<std::vector<TierInventory>> Tiers::ask_all() const {
  std::vector<TierInventory> asked;
  for (const Tier& tier : tiers_) {
    auto found = take_inventory(*tier.disk);
    if (!found) {
      return found.error().with_context("looking for checkpoints in " + tier.disk->shown("manifests") +
                                        " (its checkpoints may be the newest)");
    }
    asked.push_back({.tier = tier.word, .shown = tier.disk->shown(""), .found = *std::move(found)});
  }
  return asked;
}

Result<TieredInventory> Tiers::inventory() const {
  const auto asked = ask_all();
  if (!asked) return asked.error();
  return merge(*asked);
}

Result<void> Tiers::pin(const CheckpointId& id, const std::string& why,
                        const std::function<void(const std::string&)>& tell) const {
  for (std::size_t i = 0; i < tiers_.size(); ++i) {
    Disk& disk = *tiers_[i].disk;
    const auto pinned = checkpoint::pin(disk, id, why, draw_name());
    if (pinned) continue;
    if (i == 0) return pinned.error();
    tell("the checkpoint of step " + std::to_string(id.step.value()) + " is not pinned in " + disk.shown("") +
         ": " + pinned.error().message());
  }
  return {};
}

Result<FromTier> Tiers::load(const TieredCheckpoint& checkpoint, Rank rank) const {
  const ResumePoint point{
      .attempt = checkpoint.id.attempt, .step = checkpoint.id.step, .digest = checkpoint.digest};
  FromTier loaded;
  for (const std::size_t tier : checkpoint.tiers) {
    const auto run = RunStore::open(tiers_.at(tier).disk, draw_name());
    if (!run) return run.error();
    auto tensors = run->load(point, rank);
    if (tensors) {
      loaded.tensors = *std::move(tensors);
      loaded.tier = tier;
      return loaded;
    }
    loaded.bad.emplace_back(tier, tensors.error());
  }
  if (loaded.bad.empty()) return Error(ErrorKind::kNotFound, "no tier holds the checkpoint");
  // Return the error of the last tier: it is the store farthest from this machine, and its error is more
  // useful than that of a broken local disk.
  return loaded.bad.back().second;
}

}  // namespace ratoon::checkpoint
